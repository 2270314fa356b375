"""The real device: hooks on torch.cuda, each reversible, that report what makes the host wait."""

from syncwatch.runtime.cuda.device import CudaSource, Unsupported

__all__ = ["CudaSource", "Unsupported"]
