"""Facts of Megatron-Core in a section of another framework's configuration: what it
fuses, overlaps and scales."""

from __future__ import annotations

from ..run_file import Run
from ..values import Values
from .optimizers import add_fact

_FUSIONS = {
    "moe_permute_fusion": "fused-permutation",
    "apply_rope_fusion": "fused-rotation",
    "bias_activation_fusion": "fused-activation",
}
_MOMENTS = {"exp_avg_dtype": "first-moment", "exp_avg_sq_dtype": "second-moment"}
_SCALES = {"blockwise": "blocks", "tensorwise": "current", "delayed": "delayed"}


def add_state(v: Values, run: Run, section: str) -> None:
    """Formats of the optimizer's state. Beside weights in bf16 it keeps the lower half
    of those in 32 bits (store_param_remainders, core/optimizer/optimizer_config.py)."""
    o = section + "optimizer."
    if not v.flag(o + "use_precision_aware_optimizer"):
        return
    if run.program["precision"] != "fp16" and not v.flag(o + "optimizer_cpu_offload"):
        add_fact(run, "main-weights=rest")
    for name, fact in _MOMENTS.items():
        word = v.word(o + name, default="fp32")
        if "32" not in word:
            add_fact(run, f"{fact}={'8' if '8' in word else '16'}-bit")


def add_facts(v: Values, run: Run, section: str) -> None:
    """What Megatron-Core fuses and overlaps, where the file says it."""
    for name, fact in _FUSIONS.items():
        if v.get(section + name) is not None:
            add_fact(run, f"{fact}={'on' if v.flag(section + name) else 'off'}")
    ddp = section + "distributed_data_parallel_config."
    overlaps = [ddp + "overlap_grad_reduce", ddp + "overlap_param_gather"]
    if any(v.get(key) is not None for key in overlaps):
        is_on = all([v.flag(key) for key in overlaps])
        add_fact(run, f"data-overlap={'on' if is_on else 'off'}")
    scales = v.word(section + "fp8_cfg.fp8_recipe")
    if run.program["precision"] == "fp8" and scales in _SCALES:
        add_fact(run, "scales=" + _SCALES[scales])
    kind = v.word(section + "moe_token_dispatcher_type", default="alltoall")
    is_once = v.flag(section + "moe_enable_deepep") or kind == "flex"
    overlaps_shared = v.flag(section + "moe_shared_expert_overlap")
    if int(run.layout["expert"]) > 1:
        way = "all-gather" if kind == "allgather" else "all-to-all"
        add_fact(run, "expert-dispatch=" + ("once" if is_once else way))
        if overlaps_shared:
            add_fact(run, "expert-overlap=shared")
