"""What the static engine can be told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Settings of one analysis.

    root: the project's folder, to which the patterns of `exclude` refer and where the cache lies.
    hot, device_names, sync_functions, moves_to_device: as in the configuration, for inference.
    jobs: number of processes; 1 works in this one, 0 takes as many as there are processors.
    cache: whether results are kept in and taken from the cache.
    force_exclude: whether the patterns also judge files and folders that were named.
    """

    root: str = "."
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    hot: tuple[str, ...] = ()
    device_names: tuple[str, ...] = ()
    sync_functions: tuple[str, ...] = ()
    moves_to_device: tuple[str, ...] = ()
    jobs: int = 1
    cache: bool = True
    force_exclude: bool = False
