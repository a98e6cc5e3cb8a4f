"""Schedules in JAX: one `shard_map` whose devices run their passes in rounds, with a
`ppermute` after each.

    step = ashlar_pp.jax.value_and_grad(schedule, stage, loss, mesh=mesh)
    value, (by_stage, by_head, by_inputs) = step(parameters, head, inputs, labels)
"""

from .loop import value_and_grad
from .rounds import stages_by_device

__all__ = ["stages_by_device", "value_and_grad"]
