"""Branches that ordinary runs seldom take: those for empty or broken input, and what a cache does not hold yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncwatch.static import ir

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

_SIZES = frozenset({"numel", "size", "nelement", "len"})
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def rare_side(test: Any) -> bool | None:
    """The outcome of a test for which its input is empty or broken; None where it asks nothing of the kind.

    `len(x) == 0`, `x.numel() > 0`, `x.shape[0] != 0`, `torch.isnan(x).any()`, `isfinite(x)`.
    """
    kind = type(test)
    if kind is ir.Unary and test.op == "not":
        side = rare_side(test.value)
        return None if side is None else not side
    if kind is ir.Bool:
        sides = [rare_side(v) for v in test.values]
        # `a and b` true: both hold; `a or b` false: neither does
        known: bool = test.op == "and"
        if known in sides:
            return known
        return (not known) if all(s is (not known) for s in sides) else None
    if kind is ir.Compare and len(test.ops) == 1:
        return _compared(test.left, test.ops[0], test.rights[0])
    if kind is ir.Call:
        return False if _is_size(test) else _broken(test)
    return None


def _compared(left: Any, op: str, right: Any) -> bool | None:
    if type(left) is ir.Const:
        left, op, right = right, _FLIPPED.get(op, op), left
    if type(right) is not ir.Const or type(right.value) is not int or not _is_size(left):
        return None
    if type(left) is ir.Call and _last_name(left) in ("numel", "nelement"):  # of a single element
        single = {(">", 1): False, ("<=", 1): True, (">=", 2): False, ("<", 2): True}.get((op, right.value))
        if single is not None:
            return single
    if right.value == 0:
        return {"==": True, "<=": True, "!=": False, ">": False}.get(op)
    return {"<": True, ">=": False}.get(op) if right.value == 1 else None


def _is_size(node: Any) -> bool:
    """`len(x)`, `x.numel()`, `x.size(0)`, `x.shape[0]`."""
    if type(node) is ir.Sub:
        return type(node.value) is ir.Attr and node.value.attr == "shape"
    return type(node) is ir.Call and _last_name(node) in _SIZES


def _broken(node: ir.Call) -> bool | None:
    """`isnan(x)`, `isnan(x).any()`, `torch.isfinite(x).all()`."""
    name = _last_name(node)
    if name in ("any", "all", "item", "bool"):
        inner = node.func.value if type(node.func) is ir.Attr else node.args[0].value if node.args else None
        if type(inner) is ir.Name and inner.id == "torch" and node.args:
            inner = node.args[0].value
        return _broken(inner) if type(inner) is ir.Call else None
    return {"isnan": True, "isinf": True, "isfinite": False}.get(name)


def _last_name(node: ir.Call) -> str:
    func = node.func
    return str(func.id) if type(func) is ir.Name else str(func.attr) if type(func) is ir.Attr else ""


def same_object(test: Any, op: str) -> bool:
    """Whether a part of a test asks for the same object, so that the parts after it seldom run.

    `a is b or torch.equal(a, b)`, `a is not b and …`.
    """
    if type(test) is not ir.Compare or test.ops != (("is",) if op == "or" else ("is not",)):
        return False
    return all(type(side) in (ir.Name, ir.Attr) for side in (test.left, test.rights[0]))


def remembered(m: Interpreter, s: ir.If) -> bool:
    """Whether a branch returns what an earlier call has kept, so that what follows it runs once for each key.

    `v = cache.get(key)`, `if v is not None: return v`, … `cache[key] = v`; `if key in cache: return cache[key]`;
    `if self.x is not None: return self.x`, … `self.x = …`.
    """
    func = m.frame.func
    if s.orelse or not s.body or type(s.body[-1]) is not ir.Return or func is None or type(func.node.body) is not tuple:
        return False
    if _is_done(m, func.node.body, s.test):
        return True
    returned = s.body[-1].value
    for part in s.test.values if type(s.test) is ir.Bool and s.test.op == "and" else (s.test,):
        if type(part) is not ir.Compare or len(part.ops) != 1:
            continue
        subject: Any = None
        if part.ops[0] == "in":
            subject = part.rights[0]
        elif part.ops[0] == "is not" and type(part.rights[0]) is ir.Const and part.rights[0].kind == "none":
            subject = part.left
            if type(subject) is ir.Name and _dotted(returned) == [subject.id]:
                subject = _looked_up(func.node.body, subject.id)
        if type(subject) in (ir.Attr, ir.Name) and _keeps(m, func.node.body, subject, _dotted(returned)):
            return True
    return False


def _is_done(m: Interpreter, block: ir.Block, test: Any) -> bool:
    """`if self._ready: return`, `if getattr(self, "_ready", False): return`, … `self._ready = True`."""
    from syncwatch.static.infer.heat import made_in_step

    if type(test) is ir.Call and _last_name(test) == "getattr" and len(test.args) > 1:
        owner, name = test.args[0].value, test.args[1].value
        flag = [*_dotted(owner), str(name.value)] if type(name) is ir.Const else []
    elif type(test) is ir.Attr:
        owner, flag = test.value, _dotted(test)
    else:
        return False
    if not flag or made_in_step(m, owner):
        return False
    return any(
        type(target) is ir.Attr and _dotted(target) == flag and type(value) is ir.Const and value.value is True
        for target, value in assigned(block)
    )


def _keeps(m: Interpreter, block: ir.Block, subject: Any, returned: list[str]) -> bool:
    """Whether a function writes to what it looks into, and that outlives the step."""
    from syncwatch.static.infer.heat import made_in_step

    if type(subject) is ir.Attr and made_in_step(m, subject.value):
        return False
    names = _dotted(subject)
    for target, _ in assigned(block):
        if type(target) is ir.Sub and _dotted(target.value) == names:
            return True
        if type(subject) is ir.Attr and type(target) is ir.Attr and _dotted(target) == names == returned:
            return True
    return False


def _looked_up(block: ir.Block, name: str) -> Any:
    """The container that a variable's value is looked up in, None where it is not."""
    for target, value in assigned(block):
        if type(target) is ir.Name and target.id == name and type(value) is ir.Call and _last_name(value) == "get":
            return value.func.value if type(value.func) is ir.Attr else None
    return None


def assigned(block: Any) -> list[tuple[Any, Any]]:
    """Every target that a block assigns to, with what it gets."""
    found: list[tuple[Any, Any]] = []
    for s in block:
        kind = type(s)
        if kind is ir.Assign:
            found += [(t, s.value) for t in s.targets]
        elif kind is ir.AnnAssign:
            found.append((s.target, s.value))
        elif kind in (ir.If, ir.While, ir.ForStmt, ir.With, ir.Try):
            for inner in ("body", "orelse", "final"):
                found += assigned(getattr(s, inner, None) or ())
    return found


def _dotted(node: Any) -> list[str]:
    """The names of a chain of attributes, subscripts left out."""
    if type(node) is ir.Name:
        return [node.id]
    if type(node) is ir.Attr:
        inner = _dotted(node.value)
        return [*inner, node.attr] if inner else []
    if type(node) is ir.Sub:
        return _dotted(node.value)
    return []


def changes_once(m: Interpreter, test: Any, body: ir.Block) -> bool:
    """`if self.shape != shape: …; self.shape = shape`: what depends on the shape is made again when it changes."""
    if type(test) is ir.Bool:
        return any(changes_once(m, v, body) for v in test.values)
    if type(test) is not ir.Compare or len(test.ops) != 1 or test.ops[0] != "!=":
        return False
    from syncwatch.static.infer.heat import made_in_step

    for subject, other in ((test.left, test.rights[0]), (test.rights[0], test.left)):
        if type(subject) is not ir.Attr or made_in_step(m, subject.value):
            continue
        for target, value in assigned(body):
            if (
                type(target) is ir.Attr
                and _dotted(target) == _dotted(subject)
                and _dotted(value) == _dotted(other) != []
            ):
                return True
    return False
