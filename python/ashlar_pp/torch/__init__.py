"""Schedules in PyTorch: in its own pipeline runtime where that can run them, else in one of our own.

    pipe = ashlar_pp.torch.pipeline(modules, schedule, loss_fn)
    pipe.step(inputs, target=targets, losses=losses)
"""

from .pipelines import installed_dialect, installed_lanes, pipeline, stages_of
from .profiling import profile
from .runtime import ProgramRuntime
from .waiting import LostRank

__all__ = ["LostRank", "ProgramRuntime", "installed_dialect", "installed_lanes", "pipeline", "profile", "stages_of"]
