"""The words of `Event.via`: the syntax or the call that led to an operation.

Written operations have "call" (a method or function called by name). Operations that Python syntax, a builtin or a
library implies are named after the method that they call, and `via` says by what:

    via                       op
    if, while, assert, and,   torch.Tensor.__bool__
    or, not, ternary,
    comprehension, any, all,
    filter, bool, match
    chained                   torch.Tensor.__bool__   (0 < t < 1)
    max, min, sorted          torch.Tensor.__bool__   (comparisons of elements)
    in                        torch.Tensor.__contains__, or torch.Tensor.__bool__ for a list of tensors
    f-string, format, %       torch.Tensor.__format__; `%d`: __int__, `%f`, `%.3f`: __float__, `%s`: __repr__
    print, str, repr,         torch.Tensor.__repr__
    logging, progress-bar,
    experiment-logger
    range, slice, index       torch.Tensor.__index__  (slice: bounds; index: into a Python sequence)
    subscript                 torch.Tensor.__getitem__, torch.Tensor.__setitem__, torch.Tensor.__delitem__
    int, float, complex       torch.Tensor.__int__, torch.Tensor.__float__, torch.Tensor.__complex__
    round, math, sum          torch.Tensor.__float__ or what the function calls
    numpy                     torch.Tensor.__array__  (np.asarray(t), np.mean(t))
    operator                  torch.Tensor.__add__ …  (binary and unary operators)
    iteration                 torch.Tensor.__iter__
    library                   an operation inside a library function, reported at the line that calls it

Hazards whose operation alone does not tell them apart:

    host-created              an upload of what a factory made on the host a moment ago: torch.zeros(n).to("cuda");
                              of kind upload where it blocks, of kind host-created where it does not (non_blocking)
    round-trip                an upload of what was read from the device: t.cpu() … .to("cuda")
    reuse                     a write into a pinned buffer whose asynchronous copy may still run
    lifetime                  a tensor of one stream used on another without record_stream
    rank-0                    a read that one rank alone does at every step
"""

from __future__ import annotations

from typing import Final

CALL: Final = "call"
VIA: Final = frozenset(
    {
        "call",
        "if",
        "while",
        "assert",
        "and",
        "or",
        "not",
        "ternary",
        "in",
        "comprehension",
        "match",
        "max",
        "min",
        "sorted",
        "any",
        "all",
        "filter",
        "bool",
        "chained",
        "print",
        "f-string",
        "format",
        "%",
        "str",
        "repr",
        "logging",
        "progress-bar",
        "experiment-logger",
        "range",
        "slice",
        "index",
        "subscript",
        "int",
        "float",
        "complex",
        "round",
        "math",
        "sum",
        "numpy",
        "operator",
        "iteration",
        "library",
        "host-created",
        "round-trip",
        "reuse",
        "lifetime",
        "rank-0",
    }
)
