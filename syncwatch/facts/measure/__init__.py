"""Measures what PyTorch's operations do to the host, on a GPU: `python -m syncwatch.facts.measure`."""
