"""How often code runs: loops over batches, epochs, guards; and how heat travels through calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from syncwatch.static import ir
from syncwatch.static.infer import guards
from syncwatch.static.infer.types import is_instance_of
from syncwatch.static.values import Bound, Const, Func, Host, Iter, Obj, Tuple, Value

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter
    from syncwatch.static.infer.state import Frame

_EPOCH = re.compile(r"(^|_)(epochs?|ep|rounds?|fold|trial|stage|phase)($|_|\d)|epoch", re.I)
_BATCHES = re.compile(
    r"loader|batch|dataset|data_iter|train_iter|minibatch|dl$|_dl\b|pbar|samples|frames|prompts", re.I
)
_STEPS = re.compile(r"(^|_)(steps?|iters?|iterations?|timesteps?|it|i_step|global_step|update|n_iter)($|_)", re.I)
_SETUP = re.compile(
    r"^_*(init|build|make|create|setup|set_up|load|register|configure|prepare_(model|latents?|images?|masks?|extra|ip|control\w*|timesteps|keyframe\w*)|get_model|construct|"
    r"from_pretrained|reset_parameters|add|convert|export|save|download|parse|from_config|__init|warmup|warm_up|"
    r"initialize|init_weights|patch|fuse|switch|replace|freeze|unfreeze|copy_weights|load_state|checkpoint|"
    r"reparameterize|reparametrize|resize|resample|gen|remap|merge|unfuse|from|state_dict|set|quantize|prune|onnx|trace|plot|draw|show|display|annotate|visuali[sz]e|"
    r"report|summar\w+|profile\w*|benchmark|info|describe|resolve|offload|dispatch|attach|cpu_offload|disk_offload|auto_\w+)(_|$)"
    r"|_(init|fuse|reparam|buffers|weights|snapshot|filter_fn|state_dict|checkpoint|table)(_|$)|^__init__$"
    r"|\w*_(init|fuse|state_dict|checkpoint|quantization|plan)$"
    r"|\w*class_weights?$|^(compute|finish|finali[sz]e)$|^__new__$|^__post_init__$|^__init_subclass__$|^__setstate__$|^__deepcopy__$|^__del__$",
    re.I,
)
# Functions that a framework or a training loop calls at every step.
_HOT = re.compile(
    r"^(forward\w*|training_step|validation_step|test_step|predict_step|train_step|eval_step|compute_loss|"
    r"optimizer_step|__call__|step|_step|_forward\w*|forward_\w+|backward|on_train_batch_(start|end)|"
    r"process_batch|run_step|update_parameters|train_batch|training_loop|train_one_epoch|train_epoch|inner_step|"
    r"on_before_zero_grad|on_after_backward|on_before_optimizer_step|collate_fn|denoise|sample_step|decode_step|"
    r"preprocess_batch|criterion|loss|get_loss|calc_loss|update_metrics|postprocess|preprocess)$"
)
_GUARD = re.compile(
    r"(^|[._])(rank|local_rank|global_rank|is_main_process|is_local_main_process|is_master|is_rank_0|is_rank_zero|"
    r"is_global_zero|main_process|verbose|debug|should_log|log_step|log_interval|print_freq|isEnabledFor|sync_gradients_log|"
    r"is_logging|do_log|do_print|is_first_step|first_pass|is_first|logging_steps|log_every|profile|profiling|dry_run|"
    r"should_save|should_evaluate|save_steps|eval_steps|log_freq|is_debug|_debug|_verbose|visualize|plot|plots|"
    r"interactive|is_world_process_zero|is_local_process_zero|return_stats|log_stats|track_stats|show|first_batch|is_last|last_batch)"
    r"($|[.(_])"
)


def inherited(m: Interpreter, caller: Frame, func: Func) -> tuple[str, str, bool]:
    """Heat, guard and set-up flag of a function's activation, from its caller."""
    if m.configured.hot(func):
        return "step", caller.guarded, False
    setup = caller.setup or (caller.heat in ("setup", "epoch") and _SETUP.match(func.name) is not None)
    return caller.heat, caller.guarded, setup


def is_hot_name(m: Interpreter, name: str) -> bool:
    """Whether a function of this name runs at every step, whoever calls it."""
    return _HOT.match(name) is not None or name in m.hot_names


def is_setup_name(name: str) -> bool:
    """Whether a function of this name prepares things rather than runs at every step."""
    return _SETUP.match(name) is not None


def loop_heat(m: Interpreter, node: Any, seq: Value) -> str:
    """The heat of a loop's body."""
    frame = m.frame
    if frame.heat == "step" or frame.setup:
        return frame.heat
    if type(node) is ir.While:
        if not m.in_program and not _drives_while(m, node):
            return frame.heat
        return "epoch" if _holds_batch_loop(node.body) else "step"
    if not m.in_program and not _drives(node):
        return frame.heat
    names = _names(node.target) + _names(node.iter)
    if _over_parts(node.iter) or _is_literal(seq):
        return frame.heat
    if any(_EPOCH.search(n) for n in names) and not _trains(node.body):
        return "step" if _calls_training(m, node.body) else "epoch"
    if _holds_batch_loop(node.body):
        return "epoch"
    if any(_BATCHES.search(n) or _STEPS.search(n) for n in names):
        return "step"
    if type(seq) is Iter or type(seq) is Obj or _works(node.body):
        return "step" if _works(node.body) else frame.heat
    return frame.heat


def _drives(node: ir.ForStmt) -> bool:
    """Whether a loop in a function that nobody calls looks like one over batches or steps."""
    names = _names(node.target) + _names(node.iter)
    if type(node.iter) is ir.Name and node.iter.id.endswith("_iter") and not _BATCHES.search(node.iter.id):
        names.pop()  # an iterator, not a count of iterations
    if any(_EPOCH.search(n) or _BATCHES.search(n) or _STEPS.search(n) for n in names):
        return True
    return _trains(node.body) or _holds_batch_loop(node.body)


def _drives_while(m: Interpreter, node: ir.While) -> bool:
    """Whether a `while` in a function that nobody calls looks like a loop over steps, and does not just converge."""
    owner = m.frame.receiver
    facts = _facts_of(node.body)
    if facts.trains or facts.batches or (type(owner) is Obj and is_instance_of(owner, "torch.nn.Module")):
        return True
    names = [*_names(node.test), *called_names(node.body)]
    return any(_BATCHES.search(n) or _STEPS.search(n) or _HOT.match(n) or n in _MODELS for n in names)


_MODELS = frozenset({"next", "model", "net", "policy", "actor", "agent"})


def _is_literal(seq: Value) -> bool:
    return (type(seq) is Tuple and seq.items is not None) or (type(seq) is Const)


def _over_parts(node: Any) -> bool:
    """Whether a loop runs over the parts of a model, a state or a configuration, not over data."""
    text = " ".join(_names(node))
    return re.search(
        r"\b(parameters|named_parameters|modules|named_modules|children|named_children|buffers|named_buffers|"
        r"device_count|state_dict|param_groups|layers|blocks|keys|items|values|stages|heads|zip_longest|callbacks|hooks|"
        r"(\w+_)?(paths|files|filenames|checkpoints))\b",
        text,
    ) is not None and not _BATCHES.search(text)


def _names(node: Any, depth: int = 0) -> list[str]:
    kind = type(node)
    if depth > 5:
        return []
    if kind is ir.Name:
        return [node.id]
    if kind is ir.Attr:
        return [*_names(node.value, depth + 1), node.attr]
    if kind is ir.Call:
        found = _names(node.func, depth + 1)
        for a in node.args:
            found += _names(a.value, depth + 1)
        return found
    if kind is ir.Seq:
        return [n for i in node.items for n in _names(i, depth + 1)]
    if kind is ir.Sub:
        return _names(node.value, depth + 1)
    if kind is ir.Binary:
        return _names(node.left, depth + 1) + _names(node.right, depth + 1)
    return []


class _Body(NamedTuple):
    """What the text of a block alone says."""

    trains: bool
    works: bool
    batches: bool
    calls: tuple[Any, ...]  # the expressions that are called
    block: ir.Block
    passed: frozenset[str]  # the names that are handed to calls


_BODY: dict[int, _Body] = {}


def _facts_of(block: ir.Block) -> _Body:
    """What a loop's body does, by its text alone."""
    known = _BODY.get(id(block))
    if known is None or known.block is not block:
        finder = _Finder()
        finder.block(block)
        known = _BODY[id(block)] = _Body(
            finder.trains,
            finder.works,
            finder.batches and not finder.steps,
            tuple(finder.calls),
            block,
            frozenset(finder.passed),
        )
    return known


def _trains(block: ir.Block) -> bool:
    return _facts_of(block).trains and not _facts_of(block).batches


def _works(block: ir.Block) -> bool:
    return _facts_of(block).works


def _holds_batch_loop(block: ir.Block) -> bool:
    return _facts_of(block).batches


def _calls_training(m: Interpreter, block: ir.Block, depth: int = 0) -> bool:
    """Whether an epoch is one step: the functions that it calls train, and none of them loops over batches."""
    from syncwatch.static.infer.narrowing import peek

    called = [peek(m, node) for node in _facts_of(block).calls]
    bodies = [f.node.body for f in (v.func if type(v) is Bound else v for v in called) if type(f) is Func]
    bodies = [body for body in bodies if type(body) is tuple]
    if any(_holds_batch_loop(body) for body in bodies):
        return False
    return any(_trains(body) or (depth < 2 and _calls_training(m, body, depth + 1)) for body in bodies)


def holds_loop(block: Any) -> bool:
    """Whether a function's body holds any loop."""
    if type(block) is not tuple:
        return False
    for s in block:
        if type(s) in (ir.ForStmt, ir.While):
            return True
        if isinstance(s, (ir.If, ir.With, ir.Try)) and holds_loop(s.body):
            return True
        if isinstance(s, (ir.If, ir.Try)) and holds_loop(s.orelse):
            return True
    return False


def called_names(block: Any) -> set[str]:
    """The last names of what a function's body calls."""
    if type(block) is not tuple:
        return set()
    calls = _facts_of(block).calls
    return {f.id if type(f) is ir.Name else f.attr for f in calls if type(f) in (ir.Name, ir.Attr)}


def passed_names(block: Any) -> frozenset[str]:
    """The names that a function's body hands to calls: functions among them run elsewhere."""
    return _facts_of(block).passed if type(block) is tuple else frozenset()


def holds_batch_loop(block: Any) -> bool:
    """Whether a function's body holds a loop over batches or steps, which does what is repeated."""
    return type(block) is tuple and _holds_batch_loop(block)


_OPTIMIZER = re.compile(r"optim|(^|[ _])opt($|[ _])|scaler|engine", re.I)


class _Finder:
    """Looks through statements for training calls, other calls, and loops over batches."""

    def __init__(self) -> None:
        self.trains = self.works = self.batches = False
        self.steps = False  # an optimizer steps in the loop itself, not in a loop inside it
        self.inside = 0
        self.calls: list[Any] = []
        self.passed: set[str] = set()

    def block(self, block: ir.Block) -> None:
        for s in block:
            self.statement(s)

    def statement(self, s: Any) -> None:
        kind = type(s)
        if kind is ir.ForStmt:
            # a loop over `batch` runs over what is in one batch
            text = " ".join(_names(s.target) + [name for name in _names(s.iter) if name != "batch"])
            inner = _Finder()
            inner.block(s.body)
            named = (_BATCHES.search(text) or _STEPS.search(text)) and not _over_parts(s.iter)
            if inner.trains or (named and inner.works):
                self.batches = True
            self.inside += 1
            self.block(s.body)
            self.inside -= 1
        elif kind in (ir.While, ir.If):
            self.block(s.body)
            self.block(s.orelse)
        elif kind is ir.With:
            self.block(s.body)
        elif kind is ir.Try:
            self.block(s.body)
            self.block(s.final)
        elif kind in (ir.ExprStmt, ir.Assign, ir.AugAssign, ir.AnnAssign, ir.Return):
            if s.value is not None:
                self.expression(s.value, 0)

    def expression(self, e: Any, depth: int) -> None:
        kind = type(e)
        if depth > 6:
            return
        if kind is ir.Call:
            self.works = True
            self.calls.append(e.func)
            if type(e.func) is ir.Call:
                self.expression(e.func, depth + 1)
            if type(e.func) is ir.Attr:
                if e.func.attr in ("backward", "zero_grad") or (
                    e.func.attr == "step" and "optim" in " ".join(_names(e.func.value)).lower()
                ):
                    self.trains = True
                if e.func.attr == "step" and not self.inside and _OPTIMIZER.search(" ".join(_names(e.func.value))):
                    self.steps = True
                self.expression(e.func.value, depth + 1)
            for a in e.args:
                if type(a.value) is ir.Name:
                    self.passed.add(a.value.id)
                self.expression(a.value, depth + 1)
        elif kind is ir.Binary:
            self.expression(e.left, depth + 1)
            self.expression(e.right, depth + 1)
        elif kind is ir.Seq:
            for i in e.items:
                self.expression(i, depth + 1)
        elif kind is ir.Await:
            self.expression(e.value, depth + 1)
        elif kind is ir.Comp and type(e.value) is ir.Call:
            self.calls.append(e.value.func)


def is_batch_loop(node: ir.ForStmt) -> bool:
    """Whether a loop runs over batches or steps and does their work: what follows it runs once for all of them."""
    text = " ".join(_names(node.target) + _names(node.iter))
    return _trains(node.body) or (_BATCHES.search(text) is not None and _works(node.body))


def repeats_in_guard(node: ir.ForStmt) -> bool:
    """Whether a loop runs over batches or steps wherever it stands, as an evaluation every N steps does."""
    text = " ".join(_names(node.target) + _names(node.iter))
    named = _BATCHES.search(text) is not None or _STEPS.search(text) is not None
    return _trains(node.body) or (named and _works(node.body) and not _over_parts(node.iter))


def made_in_step(m: Interpreter, node: Any) -> bool:
    """Whether the object that an expression names was made at a step."""
    from syncwatch.static.infer.narrowing import peek

    owner = peek(m, node)
    return type(owner) is Obj and owner.label == "step"


_RANK = re.compile(r"(^|[._])(\w*rank|is_(local_)?main_process|is_master|main_process|is_global_zero|process_index)$")


def guard_kind(m: Interpreter, test: Any, body: ir.Block) -> str:
    """Why a branch runs only now and then: "rank" (on one rank), "periodic" (every N steps, when logging), "other".

    "other" is once. "" is for any other branch, also for one that trains every N steps: those are the steps.
    """
    if makes_once(m, test, body):
        return "other"
    if not _guard_text(m, test, 0):
        return ""
    subject = test.left if type(test) is ir.Compare else test
    if type(subject) is ir.Call:
        subject = subject.func
    name = subject.id if type(subject) is ir.Name else "." + subject.attr if type(subject) is ir.Attr else ""
    if name and _RANK.search(name):
        return "rank"
    return "" if _facts_of(body).trains else "periodic"


def makes_once(m: Interpreter, test: Any, body: ir.Block) -> bool:
    """`if self.x is None: self.x = …`, `if key not in state: state[key] = …`, `if len(state) == 0: state[key] = …`.

    An object that is itself made at every step has its parts made at every step.
    """
    if guards.changes_once(m, test, body):
        return True
    if type(test) is ir.Bool:
        return any(makes_once(m, v, body) for v in test.values)
    subject: Any = None
    if type(test) is ir.Compare and len(test.ops) == 1:
        if test.ops[0] == "is" and type(test.rights[0]) is ir.Const and type(test.left) is not ir.Name:
            subject = test.left
        elif test.ops[0] == "not in":
            subject = test.rights[0]
        elif test.ops[0] == "==" and type(test.left) is ir.Call and _names(test.left.func) == ["len"]:
            subject = test.left.args[0].value if test.left.args else None
    elif type(test) is ir.Unary and test.op == "not":
        value = test.value
        if type(value) is ir.Call and _names(value.func) in (["hasattr"], ["len"]) and value.args:
            subject = value.args[0].value
        elif type(value) in (ir.Attr, ir.Sub, ir.Name):
            subject = value
    if subject is None:
        return False
    names = _names(subject)
    if type(subject) in (ir.Attr, ir.Name) and made_in_step(m, subject.value if type(subject) is ir.Attr else subject):
        return False
    targets = [target for target, _ in guards.assigned(body)]
    return bool(names) and any(names == _names(t)[: len(names)] and type(t) in (ir.Attr, ir.Sub) for t in targets)


def _guard_text(m: Interpreter, node: Any, depth: int) -> bool:
    kind = type(node)
    if depth > 6:
        return False
    if kind is ir.Compare:
        if any(is_modulo(m, x) for x in (node.left, *node.rights)) or _is_one_step(node):
            return True
        return any(_guard_text(m, x, depth + 1) for x in (node.left, *node.rights))
    if kind is ir.Unary:
        return is_modulo(m, node.value) or _guard_text(m, node.value, depth + 1)
    if kind is ir.Bool:
        parts = [_guard_text(m, v, depth + 1) for v in node.values]
        return any(parts) if node.op == "and" else all(parts)
    if kind is ir.Name:
        return _GUARD.search(node.id) is not None
    if kind is ir.Attr:
        return _GUARD.search("." + node.attr) is not None
    if kind is ir.Call:
        return _guard_text(m, node.func, depth + 1)
    if kind is ir.Binary:
        return is_modulo(m, node)
    return False


_COUNTER = re.compile(r"(^|_)(batch_(idx|index|i|id|num)|step|steps_done|iteration|iter|epoch|n_iter|step_(idx|id))$")


def _is_one_step(node: ir.Compare) -> bool:
    """`batch_idx == 0`: one of all steps."""
    name = (_names(node.left) or [""])[-1]
    return node.ops == ("==",) and type(node.rights[0]) is ir.Const and _COUNTER.search(name) is not None


def moves_in_place(s: ir.Assign) -> bool:
    """Whether an assignment moves an attribute to a device and keeps it there.

    `self.x = self.x.to(device)`, `self.xs = [x.to(device) for x in self.xs]`.
    """
    target, value = s.targets[0], s.value
    if type(target) is not ir.Attr:
        return False
    source: Any = None
    if type(value) is ir.Comp and len(value.fors) == 1:
        source, value = value.fors[0].iter, value.value
        if type(source) is ir.Call and type(source.func) is ir.Attr and source.func.attr in ("items", "values"):
            source = source.func.value
    if type(value) is not ir.Call or type(value.func) is not ir.Attr or value.func.attr not in ("to", "cuda"):
        return False
    return _names(source or value.func.value) == _names(target)


def is_modulo(m: Interpreter, node: Any) -> bool:
    """`step % n`, where `n` is no tiny number: every second step is hardly a guard."""
    if type(node) is not ir.Binary or node.op != "%" or type(node.left) is ir.Const:
        return False
    if type(node.right) is ir.Const:
        return node.right.value not in (1, 2)
    from syncwatch.static.infer.narrowing import peek

    divisor = peek(m, node.right)
    return not (type(divisor) is Const and divisor.value in (1, 2))


def raises(block: ir.Block) -> bool:
    """Whether a branch ends the program's normal course: what it computes happens once at most."""
    return bool(block) and type(block[-1]) is ir.Raise


__all__ = ["Host"]
