"""MaxText: decoders by JAX, on GPUs (configs/types.py, configs/pyconfig.py and
layers/nnx_decoders.py at e591f30c)."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.optimizers import add_fact, refuse_other
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, found, parsed, read_file, sorted_out
from .maxtext_model import ROUTED, architecture_of
from .maxtext_quiet import QUIET
from .maxtext_ranks import add_ranks

READS = "MaxText"

_BASE = "base.yml"
# layers/nnx_decoders.py: the results of products that each policy names are kept, and
# all else of a layer is taken again; `context` is the result of attention.
_AGAIN = {
    "full": ["full"],
    "none": [],
    "minimal": ["core_attn", "layernorm"],
    "minimal_with_context": ["layernorm"],
    "minimal_flash": ["layernorm"],
    "save_dot_except_mlp": ["core_attn", "layernorm", "mlp"],
    "save_dot_with_context_except_mlp": ["layernorm", "mlp"],
}
_FP8 = {
    "fp8": ("fp8", "delayed"),
    "nanoo_fp8": ("fp8", "delayed"),
    "te_fp8_delayedscaling": ("fp8", "delayed"),
    "te_fp8_currentscaling": ("fp8", "current"),
    "te_mxfp8": ("mxfp8", ""),
    "te_nvfp4": ("nvfp4", ""),
}
_KERNELS = {
    "cudnn_flash_te": "cudnn",
    "cudnn_flash_jax": "cudnn",
    "dot_product": "unfused",
}
_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
# Values that make another step, by key, with those that do not.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "use_dpo": (False,),
    "training_objective": ("causal_lm",),
    "trainable_parameters_mask": ([], ""),
    "optimizer_memory_host_offload": (False,),
    "parameter_memory_host_offload": (False,),
    "enable_rampup_batch_size": (False,),
    "enable_diloco": (False,),
    "use_qwix_quantization": (False,),
    "custom_mesh_and_rule": ("",),
    "lora_input_adapters_path": ("",),
    "hf_lora_adapter_path": ("",),
    "decoder_layer_input": ("device",),
    "shard_exp_on_fsdp": (False,),
    "use_2d_fsdp_sharding": (False,),
    "enable_lora": (False,),
    "teacher_overrides": ({},),
}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return {"base_config", "model_name"} <= set(tree) or {
        "base_emb_dim",
        "per_device_batch_size",
    } <= set(tree)


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    return of_fields(tree, {}, path)


def is_for(training: Training) -> bool:
    program = training.program.replace("/", ".").removesuffix(".py").lower()
    return program.startswith("maxtext.") or ".maxtext." in program


def read(training: Training) -> Run:
    """Raises Unreadable."""
    name = training.name.removesuffix(".py").rpartition(".")[2]
    words = list(training.arguments)
    if name != "train" or not words or not words[0].endswith(".yml"):
        raise Unreadable(f"{training.program}: only train, with a .yml, is read here")
    told = {k: v for k, v in training.command.environment.items() if k[:2] == "M_"}
    quiet = ("M_RUN_NAME", "M_BASE_OUTPUT_DIRECTORY", "M_DATASET_PATH")
    for key in told:
        if key not in quiet:
            raise Unreadable(f"the variable {key} replaces a value: say it as a word")
    path = pathlib.Path(training.command.folder, words[0])
    said: dict[str, Any] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise Unreadable(f"{training.program}: {word} is not NAME=VALUE")
        said[key] = parsed(value, pathlib.Path("value.yaml"))
    tree = read_file(path)
    if not isinstance(tree, Mapping):
        raise Unreadable(f"{path} is no configuration with names and values")
    return of_fields(tree, said, path, training.nodes, training.devices)


def of_fields(
    tree: Mapping[str, Any],
    words: Mapping[str, Any],
    path: pathlib.Path,
    nodes: int = 0,
    devices: int = 0,
) -> Run:
    """`words` of the command stand above the file. Raises Unreadable."""
    base, own = _below(tree, path, 0)
    run = Run(program={"stack": "torchtitan"})
    v, model = _with_model(base, own, words, path, run)
    has_model = model is not None
    kind = v.word("hardware", default="tpu")
    if kind not in ("gpu", "gpu_multiprocess"):
        raise Unreadable(f"{path}: hardware {kind}: --set hardware=gpu predicts GPUs")
    for key, plain in _PLAIN.items():
        if v.get(key) is not None and v.get(key) not in plain:
            raise Unreadable(f"{path}: {key} {v.get(key)} is not predicted", flag=key)
    if "logical_axis_rules" in own or "logical_axis_rules" in words:
        raise Unreadable(f"{path}: logical_axis_rules: ranks share other things")
    run.unknown.append(
        "JAX: XLA fuses and overlaps in its own way, and no run of it was measured"
    )
    add_fact(run, "fused-activation=on,fused-rotation=on")
    each = add_ranks(v, run, nodes, devices)
    passes_all = has_model and _add_experts(v, run)
    if has_model:
        run.model = {"architecture": architecture_of(v, passes_all)}
    else:
        v.asked.update(key for key in v.all if key.startswith(("base_", "num_experts")))
        run.notes.append(
            f"the model is {v.word('model_name')} of MaxText's configs/models, which "
            "is not there: give --model to ashlar predict"
        )
    _add_batch(v, run, each)
    _add_step(v, run)
    said = {*own, *words, *(model or {})}
    rest = [key for key in v.rest() if key.split(".")[0] in said]
    rest = [key for key in rest if v.all[key] != base.get(key, "")]
    run.not_read, unknown = sorted_out(rest, QUIET)
    run.unknown.extend(unknown)
    return run


def _below(
    tree: Mapping[str, Any], path: pathlib.Path, depth: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """MaxText's own defaults where they are there, and the values of the file over
    those of the files that it begins as."""
    name = str(tree.get("base_config") or "")
    if path.name == _BASE or not name or depth > 9:
        return (dict(tree), {}) if path.name == _BASE else ({}, dict(tree))
    try:
        place = found(name, path.parent)
    except Unreadable:
        if pathlib.Path(name).name != _BASE:
            raise
        return {}, dict(tree)
    below = read_file(place)
    if not isinstance(below, Mapping):
        raise Unreadable(f"{place} is no configuration with names and values")
    base, own = _below(below, place, depth + 1)
    return base, {**own, **tree}


def _with_model(
    base: Mapping[str, Any],
    own: Mapping[str, Any],
    words: Mapping[str, Any],
    path: pathlib.Path,
    run: Run,
) -> tuple[Values, Mapping[str, Any] | None]:
    """All values, and the model's among them, if they are there. These stand above
    those of a configuration; MaxText stops at words that differ from them, or takes the
    words with override_model_config."""
    whole = {**base, **own, **words}
    name = str(whole.get("model_name") or "default").replace("-Instruct", "")
    if name == "default":
        return Values(whole, str(path)), {}
    try:
        place = found(f"models/{name}.yml", path.parent)
    except Unreadable:
        return Values(whole, str(path)), None
    model = read_file(place)
    takes_words = whole.get("override_model_config")
    for key in () if takes_words else sorted(set(model) & set(words)):
        if words[key] != model[key]:
            raise Unreadable(
                f"MaxText stops at {key}={words[key]}: {place.name} says it, too; "
                "override_model_config=true takes the word",
                flag=key,
            )
    lost = [key for key in own if key in model and own[key] != model[key]]
    run.notes.extend(f"{key} of {place.name} replaces that of the file" for key in lost)
    return Values({**base, **own, **model, **words}, str(path)), model


def _add_experts(v: Values, run: Run) -> bool:
    """Whether each token goes through all experts: products of dense matrices without
    a capacity (layers/moe.py)."""
    if v.word("decoder_block", default="llama2") not in ROUTED:
        return False
    capacity = float(v.get("capacity_factor") or -1)
    if v.flag("sparse_matmul", default=True):
        return False
    if capacity <= 0:
        if int(run.layout.get("expert", 1)) > 1:
            raise Unreadable(f"{v.where}: expert ranks without a capacity_factor")
        run.notes.append("each token goes through all experts, as sparse_matmul is off")
        return True
    if capacity < 1:
        raise Unreadable(f"{v.where}: capacity_factor {capacity}: below 1")
    if capacity > 1:  # experts are filled up to it
        add_fact(run, f"imbalance={capacity:g}")
    run.unknown.append(
        "products with masks bring tokens to experts, and are not counted"
    )
    return False


def _add_batch(v: Values, run: Run, each: int) -> None:
    """A pass has per_device_batch_size sequences of each device, of which `each`
    take them together."""
    size = float(v.get("per_device_batch_size") or 12) * each
    if size < 1 or not size.is_integer():
        raise Unreadable(f"{v.where}: a data rank has {size:g} sequences of a pass")
    run.batch = {
        "sequence": v.number("max_target_length", default=2048),
        "micro_batch": int(size),
        "micro_batches": v.number("gradient_accumulation_steps", default=1),
    }
    v.get("expansion_factor_real_data")


def _add_step(v: Values, run: Run) -> None:
    kind = v.word("dtype", default="bfloat16")
    if kind not in _FORMATS:
        raise Unreadable(f"{v.where}: dtype {kind} is not known here")
    run.program["precision"] = _FORMATS[kind]
    quantized = v.word("quantization")
    if quantized and quantized not in _FP8:
        raise Unreadable(f"{v.where}: quantization {quantized} is not predicted")
    if quantized:
        run.program["precision"], scales = _FP8[quantized]
        if scales:
            add_fact(run, f"scales={scales}")
    refuse_other(v, "opt_type", ("adamw", "adam_pax"))
    held = v.word("weight_dtype", default="float32")
    if held not in ("float32", "bfloat16") or (held, kind) == ("bfloat16", "float32"):
        raise Unreadable(f"{v.where}: weight_dtype {held} beside dtype {kind}")
    mean = v.word("mu_dtype") or held
    if mean not in ("float32", "bfloat16"):
        raise Unreadable(f"{v.where}: mu_dtype {mean} is not known here")
    if held == "bfloat16":
        add_fact(run, "main-weights=16-bit,second-moment=16-bit")
    if mean == "bfloat16":
        add_fact(run, "first-moment=16-bit")
    v.get("grad_dtype")  # of gradients in 32 bits alone
    _add_recomputation(v, run)
    kernel = v.word("attention", default="autoselected")
    if kernel in _KERNELS:
        run.program["attention"] = _KERNELS[kernel]
    elif kernel in ("autoselected", "flash"):
        run.unknown.append(f"attention {kernel}: a kernel of Pallas and Triton")
    else:
        raise Unreadable(f"{v.where}: attention {kernel} is not known here")


def _add_recomputation(v: Values, run: Run) -> None:
    policy = v.word("remat_policy", default="full") or "none"
    if policy not in _AGAIN:
        raise Unreadable(
            f"{v.where}: remat_policy {policy} keeps or moves products that no part of "
            "--recompute names; --set remat_policy=full, or minimal_with_context, "
            "predicts that"
        )
    parts = list(_AGAIN[policy])
    is_routed = v.word("decoder_block", default="llama2") in ROUTED
    if "mlp" in parts and is_routed:
        parts[-1:] = (
            ["moe"] if v.word("decoder_block") != "deepseek" else ["mlp", "moe"]
        )
    elif is_routed and "layernorm" in parts:
        parts.append("moe_act")
    if parts:
        run.layout["recompute"] = ",".join(parts)
    if policy.startswith("minimal"):
        run.unknown.append(
            f"remat_policy {policy}: the product of gate and up, what experts take "
            "and low ranks of attention are taken again, too: memory is less than said"
        )
