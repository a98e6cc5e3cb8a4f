"""Words of Axolotl's alone, in a configuration with the Trainer's others."""

from __future__ import annotations

from ..run_file import Run, Unreadable
from ..values import Values
from .trainer_adapters import NO

# Words for data, for reports, and for classes that a type of model has anyway.
_QUIET = """
    special_tokens. tokens. model_type processor_type skip_prepare eot_tokens
    loss_watchdog swanlab use_swanlab image_ video_ shuffle_ chat_ role
""".split()


def read_axolotl(v: Values, run: Run) -> None:
    """Reads its batch, and what leaves for the host. Raises Unreadable."""
    if v.get("base_model") is None:
        return
    if v.get("layer_offloading") not in NO:
        raise Unreadable(
            "layer_offloading: frozen layers stay on the host, and nothing here says "
            "what that takes"
        )
    # The samples of a rank, where steps are not said (utils/config/__init__.py).
    samples, micro = v.number("batch_size", default=0), run.batch.get("micro_batch")
    if samples and micro and not v.get("gradient_accumulation_steps"):
        run.batch["micro_batches"] = samples // micro
    said = v.get("activation_offloading")
    if said in NO and str(v.get("gradient_checkpointing")).startswith("offload"):
        said = True
    if said not in NO:
        _add_offloading(run, str(said))
    v.asked.update(key for key in v.all if key.startswith(tuple(_QUIET)))


def _add_offloading(run: Run, how: str) -> None:
    """Offloading stands in the place of recomputation beside adapters (core/builders/
    base.py, core/trainers/mixins/activation_checkpointing.py)."""
    if how == "disk":
        raise Unreadable("activation_offloading disk: the speed of disks is not known")
    run.layout["offload_activations"] = "full"
    run.layout["recompute"] = "full"
    if run.program.get("lora") and how != "hidden_states":
        del run.layout["recompute"]
