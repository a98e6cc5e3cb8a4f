"""Schedules in PyTorch: in its own pipeline runtime where that can run them, else in one of our own.

    pipe = ashlar_pp.torch.pipeline(modules, schedule, loss_fn)
    pipe.step(inputs, target=targets, losses=losses)
"""

from .pipelines import installed_dialect, pipeline, stages_of
from .profiling import profile
from .runtime import ProgramRuntime

__all__ = ["ProgramRuntime", "installed_dialect", "pipeline", "profile", "stages_of"]
