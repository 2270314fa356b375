"""transformers, diffusers, timm, torchvision and torchmetrics: models, tokenizers, pipelines, trainers' hooks."""

from __future__ import annotations

import re

from syncwatch.static.library.frameworks import to_device
from syncwatch.static.library.lightning import assumed_batch
from syncwatch.static.library.modules import loaded, where_of
from syncwatch.static.library.protocol import (
    ALIASES,
    BASES,
    PREFIX_BASES,
    LibCall,
    Machine,
    assumes,
    attribute,
    default,
    model,
)
from syncwatch.static.library.tensors import HOST, contents, given, on, replaced, result, tensors
from syncwatch.static.library.torch_transfers import moved
from syncwatch.static.values import (
    INT,
    NONE,
    REST,
    STR,
    TRUE,
    UNKNOWN,
    Obj,
    Tensor,
    Value,
    const,
)

_MODEL = "transformers.PreTrainedModel"
ALIASES["transformers.modeling_utils.PreTrainedModel"] = _MODEL
ALIASES["transformers.trainer.Trainer"] = "transformers.Trainer"
for _name in ("TFPreTrainedModel", "FlaxPreTrainedModel"):
    BASES[f"transformers.{_name}"] = ()
BASES[_MODEL] = ("torch.nn.Module",)
BASES["transformers.Trainer"] = ()
BASES["transformers.Seq2SeqTrainer"] = ("transformers.Trainer",)
BASES["transformers.BatchEncoding"] = BASES["transformers.ModelOutput"] = ("dict",)
for _name in (
    "AutoModel",
    "AutoModelForCausalLM",
    "AutoModelForSequenceClassification",
    "AutoModelForSeq2SeqLM",
    "AutoModelForMaskedLM",
    "AutoModelForTokenClassification",
    "AutoModelForQuestionAnswering",
    "AutoModelForImageClassification",
    "AutoModelForVision2Seq",
    "AutoModelForSpeechSeq2Seq",
    "CLIPTextModel",
    "CLIPVisionModelWithProjection",
    "CLIPTextModelWithProjection",
    "CLIPModel",
    "T5EncoderModel",
    "T5ForConditionalGeneration",
    "GPT2LMHeadModel",
    "LlamaForCausalLM",
    "BertModel",
    "BertForMaskedLM",
    "BertForSequenceClassification",
    "ViTModel",
    "ViTForImageClassification",
    "Wav2Vec2Model",
    "LlamaModel",
):
    BASES[f"transformers.{_name}"] = (_MODEL,)
_DIFFUSER = "diffusers.ModelMixin"
ALIASES["diffusers.models.modeling_utils.ModelMixin"] = _DIFFUSER
BASES[_DIFFUSER] = ("torch.nn.Module",)
for _name in (
    "UNet2DConditionModel",
    "UNet2DModel",
    "AutoencoderKL",
    "ControlNetModel",
    "Transformer2DModel",
    "VQModel",
    "SD3Transformer2DModel",
    "FluxTransformer2DModel",
):
    BASES[f"diffusers.{_name}"] = (_DIFFUSER,)
_SCHEDULER = "diffusers.SchedulerMixin"
PREFIX_BASES.append(("diffusers.schedulers.", _SCHEDULER))
for _name in (
    "DDPMScheduler",
    "DDIMScheduler",
    "EulerDiscreteScheduler",
    "PNDMScheduler",
    "FlowMatchEulerDiscreteScheduler",
    "DPMSolverMultistepScheduler",
    "LMSDiscreteScheduler",
    "UniPCMultistepScheduler",
):
    BASES[f"diffusers.{_name}"] = (_SCHEDULER,)
BASES[_SCHEDULER] = ()


# ---------------------------------------------------------------------------------------- pretrained models


@model(
    f"{_MODEL}.from_pretrained",
    f"{_MODEL}.from_config",
    f"{_DIFFUSER}.from_pretrained",
    f"{_DIFFUSER}.from_config",
    f"{_DIFFUSER}.from_single_file",
    f"{_MODEL}._from_config",
)
def _from_pretrained(m: Machine, call: LibCall) -> Value:
    cls: Value = call.self if call.self is not None else UNKNOWN
    type_ = cls.name if type(cls).__name__ == "Lib" else None
    if type_ is None:
        name = getattr(cls, "name", None)
        type_ = name if isinstance(name, str) and type(cls) is not Obj else _MODEL
    if type(cls).__name__ == "Class":
        return m.new(cls)
    if type_ == _MODEL and call.args and type(call.args[0]).__name__ == "Lib":
        type_ = call.args[0].name
    return loaded(m, type_, call.kwargs.get("device_map"))


@default("transformers.")
def _transformers(m: Machine, call: LibCall) -> Value:
    owner, _, name = call.name.rpartition(".")
    short = owner.rpartition(".")[2]
    if name in ("from_pretrained", "from_config"):
        if short.endswith(("Tokenizer", "TokenizerFast", "Processor", "ImageProcessor", "FeatureExtractor")) or (
            "Tokenizer" in short or "Processor" in short
        ):
            return m.new("transformers.Tokenizer")
        if short.endswith(("Config", "GenerationConfig")):
            return UNKNOWN
        if short.startswith(("AutoModel",)) or "Model" in short or "For" in short:
            type_ = owner if "torch.nn.Module" in BASES.get(owner, ()) or _MODEL in BASES.get(owner, ()) else _MODEL
            return loaded(m, type_, call.kwargs.get("device_map"))
    if name == "pipeline":
        return m.new("transformers.Pipeline")
    if name.startswith("get_") and name.endswith(("schedule", "scheduler", "warmup", "restarts")):
        return m.new("torch.optim.lr_scheduler.LambdaLR", optimizer=call.arg(0, "optimizer", UNKNOWN))
    return UNKNOWN


def _outputs(m: Machine, call: LibCall, type_: str) -> Value:
    """What a pretrained model returns: any field is a tensor on its device."""
    inputs = [*call.args, *call.kwargs.values()]
    found = tensors(inputs)
    own = where_of(call.self) if type(call.self) is Obj else None
    place = own
    if place is None or place.device is None:
        place = None
    value = result(found, None, "float", place=place, grad=True) if found or place is not None else UNKNOWN
    if value is UNKNOWN:
        return UNKNOWN
    made = m.new(type_)
    m.setattr(made, REST, value)
    return made


_TEXT = re.compile(r"(CausalLM|Seq2SeqLM|MaskedLM|SequenceClassification|TokenClassification|QuestionAnswering)$")


def _reads_mask(m: Machine, call: LibCall) -> None:
    """Models of text look whether `attention_mask` hides anything, to leave it out where it does not."""
    mask = call.kwargs.get("attention_mask")
    kind = call.self.type if type(call.self) is Obj and isinstance(call.self.type, str) else ""
    own = where_of(call.self) if type(call.self) is Obj else None
    if type(mask) is Tensor:
        hides = mask.device == "cuda"
    else:  # `model(**batch)`, as tokenizers make batches
        hides = call.has_star and _TEXT.search(kind) is not None and own is not None and own.device == "cuda"
    if hides:
        m.ask("torch.Tensor.__bool__", [Tensor("cuda", False, (), "bool")])


@model(f"{_MODEL}.__call__", f"{_MODEL}.forward", f"{_DIFFUSER}.__call__", f"{_DIFFUSER}.forward")
def _model_call(m: Machine, call: LibCall) -> Value:
    _reads_mask(m, call)
    return _outputs(m, call, "transformers.ModelOutput")


@attribute("transformers.ModelOutput.*")
def _output_field(m: Machine, obj: Value, name: str) -> Value:
    held = obj.slots.get(REST) if type(obj) is Obj else None
    if type(held) is not Tensor:
        return UNKNOWN
    if name == "loss":
        return replaced(held, shape=(), dtype="float")
    if name in ("past_key_values", "hidden_states", "attentions", "encoder_hidden_states"):
        return UNKNOWN
    if name == "latent_dist":
        made = m.new("diffusers.DiagonalGaussianDistribution")
        m.setattr(made, "mean", held)
        return made
    return held


@model("transformers.ModelOutput.__getitem__")
def _output_item(m: Machine, call: LibCall) -> Value:
    return call.self.slots.get(REST, UNKNOWN) if type(call.self) is Obj else UNKNOWN


@model("transformers.ModelOutput.to_tuple")
def _output_tuple(m: Machine, call: LibCall) -> Value:
    return UNKNOWN


@model("diffusers.DiagonalGaussianDistribution.sample", "diffusers.DiagonalGaussianDistribution.mode")
def _latent_sample(m: Machine, call: LibCall) -> Value:
    return call.self.slots.get("mean", UNKNOWN) if type(call.self) is Obj else UNKNOWN


@model(f"{_DIFFUSER}.encode", f"{_DIFFUSER}.decode")
def _codec(m: Machine, call: LibCall) -> Value:
    return _outputs(m, call, "transformers.ModelOutput")


@model(f"{_MODEL}.generate")
def _generate(m: Machine, call: LibCall) -> Value:
    own = where_of(call.self) if type(call.self) is Obj else None
    inputs = [*call.args, *call.kwargs.values()]
    if own is None and not tensors(inputs):
        return UNKNOWN
    made = result(tensors(inputs), (None, None), "int", place=own, grad=False)
    if made.device == "cuda":  # it looks at every step whether all sequences have ended
        m.ask("torch.Tensor.__bool__", [replaced(made, shape=(), dtype="bool")])
    return made


@attribute(f"{_MODEL}.device", f"{_DIFFUSER}.device")
def _model_device(m: Machine, obj: Value, name: str) -> Value:
    found = m.device_of(obj)
    return found if found is not None and found.type is not None else m.accelerator()


@attribute(f"{_MODEL}.config", f"{_DIFFUSER}.config", f"{_SCHEDULER}.config", f"{_MODEL}.generation_config")
def _config(m: Machine, obj: Value, name: str) -> Value:
    return UNKNOWN


@model(
    f"{_MODEL}.gradient_checkpointing_enable",
    f"{_MODEL}.save_pretrained",
    f"{_MODEL}.resize_token_embeddings",
    f"{_DIFFUSER}.enable_gradient_checkpointing",
    f"{_DIFFUSER}.save_pretrained",
    f"{_MODEL}.post_init",
    f"{_MODEL}.tie_weights",
    f"{_MODEL}.init_weights",
)
def _model_none(m: Machine, call: LibCall) -> Value:
    return NONE


# ---------------------------------------------------------------------------------------- tokenizers

_TOKENIZER = "transformers.Tokenizer"
BASES[_TOKENIZER] = ()


@model(
    f"{_TOKENIZER}.__call__",
    f"{_TOKENIZER}.encode_plus",
    f"{_TOKENIZER}.batch_encode_plus",
    f"{_TOKENIZER}.pad",
    f"{_TOKENIZER}.apply_chat_template",
)
def _tokenize(m: Machine, call: LibCall) -> Value:
    """Host tensors with `return_tensors="pt"`, else lists."""
    made = m.new("transformers.BatchEncoding")
    if call.kwargs.get("return_tensors") == const("pt"):
        m.setattr(made, REST, Tensor("cpu", shape=None, dtype=None, pinned=False, dense=True, requires_grad=False))
        if call.name.endswith("apply_chat_template") and call.kwargs.get("return_dict") != TRUE:
            return made.slots[REST]
    else:
        m.setattr(made, REST, UNKNOWN)
    return made


@attribute("transformers.BatchEncoding.*")
def _encoding_field(m: Machine, obj: Value, name: str) -> Value:
    return obj.slots.get(REST, UNKNOWN) if type(obj) is Obj else UNKNOWN


@model("transformers.BatchEncoding.to")
def _encoding_to(m: Machine, call: LibCall) -> Value:
    """Moves its tensors one by one, in place."""
    obj = call.self
    if type(obj) is Obj:
        device = call.arg(0, "device", UNKNOWN)
        for t in contents(obj.slots.get(REST, UNKNOWN)):
            if type(t) is Tensor:
                flags = {k: v for k, v in call.kwargs.items() if k == "non_blocking"}
                m.ask("torch.Tensor.to", [t, device], flags, via="call")
                named = m.device_of(device)
                if named is not None:
                    m.setattr(obj, REST, moved(m, t, on(named), None, non_blocking=False, copy=False))
    return call.receiver


@model(f"{_TOKENIZER}.decode", f"{_TOKENIZER}.convert_ids_to_tokens")
def _decode(m: Machine, call: LibCall) -> Value:
    """Reads the ids: a tensor is turned into a list."""
    m.ask("torch.Tensor.tolist", [call.arg(0, "token_ids", UNKNOWN)], via="library")
    return STR


@model(f"{_TOKENIZER}.batch_decode")
def _batch_decode(m: Machine, call: LibCall) -> Value:
    m.ask("torch.Tensor.tolist", [call.arg(0, "sequences", UNKNOWN)], via="library")
    return m.list(None, STR)


@model(f"{_TOKENIZER}.encode", f"{_TOKENIZER}.tokenize", f"{_TOKENIZER}.convert_tokens_to_ids")
def _encode(m: Machine, call: LibCall) -> Value:
    if call.kwargs.get("return_tensors") == const("pt"):
        return Tensor("cpu", shape=(1, None), dtype="int", pinned=False, dense=True, requires_grad=False)
    return m.list(None, INT)


@attribute(
    f"{_TOKENIZER}.eos_token_id",
    f"{_TOKENIZER}.pad_token_id",
    f"{_TOKENIZER}.bos_token_id",
    f"{_TOKENIZER}.vocab_size",
    f"{_TOKENIZER}.mask_token_id",
    f"{_TOKENIZER}.model_max_length",
)
def _token_id(m: Machine, obj: Value, name: str) -> Value:
    return INT


# ---------------------------------------------------------------------------------------- the Trainer's hooks


@assumes(
    "transformers.Trainer.compute_loss",
    "transformers.Trainer.training_step",
    "transformers.Trainer.prediction_step",
    hot=True,
)
def _trainer_hook(m: Machine, obj: Obj, name: str) -> Value:
    """The Trainer hands over inputs that it has moved to the device."""
    if name == "inputs":
        return assumed_batch(m)
    return UNKNOWN


@model("transformers.Trainer.compute_loss", "transformers.Trainer.training_step")
def _trainer_loss(m: Machine, call: LibCall) -> Value:
    accelerator = m.accelerator()
    return Tensor(accelerator.type, accelerator.sure, (), "float", requires_grad=True)


@model("transformers.Trainer._prepare_inputs")
def _prepare_inputs(m: Machine, call: LibCall) -> Value:
    return to_device(m, call.arg(0, "inputs", UNKNOWN), on(m.accelerator()))


# ---------------------------------------------------------------------------------------- diffusers


@default("diffusers.")
def _diffusers(m: Machine, call: LibCall) -> Value:
    owner, _, name = call.name.rpartition(".")
    short = owner.rpartition(".")[2]
    if name in ("from_pretrained", "from_config", "from_single_file"):
        if short.endswith("Scheduler"):
            return m.new(f"diffusers.{short}")
        if short.endswith("Pipeline"):
            return m.new("diffusers.DiffusionPipeline")
        if short.endswith(("Model", "KL")):
            return loaded(m, owner if owner in BASES else _DIFFUSER, call.kwargs.get("device_map"))
    if name == "randn_tensor":
        device = call.kwargs.get("device")
        named = m.device_of(device) if given(device) else None
        where = on(named) if named is not None else HOST
        return Tensor(where.device, where.sure, None, "float", requires_grad=False)
    if name == "get_scheduler":
        return m.new("torch.optim.lr_scheduler.LambdaLR")
    return UNKNOWN


ALIASES["diffusers.utils.torch_utils.randn_tensor"] = "diffusers.randn_tensor"


@model(
    f"{_SCHEDULER}.add_noise",
    f"{_SCHEDULER}.scale_model_input",
    f"{_SCHEDULER}.get_velocity",
    f"{_SCHEDULER}.scale_noise",
)
def _add_noise(m: Machine, call: LibCall) -> Value:
    found = tensors([*call.args[:1], *(v for k, v in call.kwargs.items() if k in ("sample", "original_samples"))])
    return result(found, found[0].shape, found[0].dtype) if found else UNKNOWN


@model(f"{_SCHEDULER}.step")
def _scheduler_step(m: Machine, call: LibCall) -> Value:
    found = tensors([call.arg(2, "sample", call.arg(0, "model_output", UNKNOWN))])
    if not found:
        return UNKNOWN
    made = m.new("transformers.ModelOutput")
    m.setattr(made, REST, replaced(found[0], requires_grad=False))
    return made


@model(f"{_SCHEDULER}.set_timesteps")
def _set_timesteps(m: Machine, call: LibCall) -> Value:
    device = call.arg(1, "device")
    named = m.device_of(device) if given(device) else None
    where = on(named) if named is not None else HOST
    if type(call.self) is Obj:
        m.setattr(call.self, "timesteps", Tensor(where.device, where.sure, (None,), None, requires_grad=False))
    return NONE
