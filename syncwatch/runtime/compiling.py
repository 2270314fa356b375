"""torch's own questions whether it compiles.

Every torch that can be watched has them. In an older one a watch says so, and they must not fail before.
"""

from __future__ import annotations

try:
    # by their own names: torch.compile knows them, and answers them while it traces
    from torch.compiler import is_compiling, is_dynamo_compiling
except ImportError:

    def is_compiling() -> bool:
        """There is no compiler to ask."""
        return False

    is_dynamo_compiling = is_compiling

__all__ = ["is_compiling", "is_dynamo_compiling"]
