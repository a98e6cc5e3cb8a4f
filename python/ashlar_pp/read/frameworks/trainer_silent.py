"""Arguments over the Trainer whose values say whether they change a step."""

from __future__ import annotations

from ..run_file import Run, Unreadable
from ..values import Values

# Values with which an argument changes nothing.
_SILENT_VALUES = {
    "half_precision_backend": ("auto", "cuda_amp"),
    "ddp_backend": ("nccl",),
    "fsdp_min_num_params": ("0",),
    "label_smoothing_factor": ("0", "0.0"),
}
# Plugins of Axolotl that only add arguments, which are listed by themselves, or a log.
_SILENT_PLUGINS = ("LigerPlugin", "LMEvalPlugin", "SwanLabPlugin")
_OTHER_TRAININGS = ("SpectrumPlugin", "DiffusionPlugin", "KDPlugin", "MoraPlugin")


def pass_over(v: Values, run: Run) -> None:
    """Marks arguments as read that change nothing with these values, and lists what
    plugins of Axolotl change. Raises Unreadable for those that train something else."""
    for key, silent in _SILENT_VALUES.items():
        if str(v.all.get(key)).lower() in silent:
            v.asked.add(key)
    if run.program.get("precision") != "fp32":  # tf32 is about products in 32 bits
        v.asked.add("tf32")
    plugins = v.get("plugins") or []
    for name in [plugins] if isinstance(plugins, str) else plugins:
        _read_plugin(str(name), v, run)


def _read_plugin(name: str, v: Values, run: Run) -> None:
    kind = name.rpartition(".")[2]
    if kind in _OTHER_TRAININGS:
        raise Unreadable(
            f"plugins {kind}: it trains a part, or by another loss; --set plugins=[] "
            "predicts without",
            flag="plugins",
        )
    if kind == "CutCrossEntropyPlugin":
        # It is on unless its own argument says no (cut_cross_entropy/args.py).
        if v.get("cut_cross_entropy") is not False:
            run.unknown.append(
                "cut_cross_entropy: no logits are held, so memory is less than said"
            )
    elif kind not in _SILENT_PLUGINS:
        run.unknown.append(f"plugins {kind}")
