"""The real device: hooks on torch.cuda, each reversible, that report what makes the host wait."""

from syncwatch.runtime.cuda.device import CudaSource

__all__ = ["CudaSource"]
