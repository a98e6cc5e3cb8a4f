"""Runs schedules in PyTorch: in its own pipeline runtime if that can run them, else in
one of our own.

    pipe = ashlar_pp.torch.Pipeline(model, example, memory="70GiB")
    loss = pipe.step(batch)

or, with stages and a schedule of your own:

    pipe = ashlar_pp.torch.pipeline(modules, schedule, loss_fn)
    pipe.step(inputs, target=targets, losses=losses)
"""

from .front import Pipeline
from .pipelines import installed_dialect, installed_lanes, pipeline, stages_of
from .profiler import profile
from .runtime import ProgramRuntime
from .waits import LostRank

__all__ = [
    "LostRank",
    "Pipeline",
    "ProgramRuntime",
    "installed_dialect",
    "installed_lanes",
    "pipeline",
    "profile",
    "stages_of",
]
