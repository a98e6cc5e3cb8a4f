"""Pipeline schedules as values: an algebra, proofs, bounds and searches.

    from ashlar import catalog, repeat, squeeze
    schedule = catalog.v_half(devices=4) | repeat(8) | squeeze()
    schedule.makespan, schedule.bubble_rate, schedule.bound()

A notebook shows a schedule as a picture. `ashlar.torch` runs schedules in PyTorch.
"""

from . import catalog
from ._core import (
    Block,
    Bound,
    Comparison,
    Costs,
    DeviceMemory,
    DeviceUsage,
    Instruction,
    Pass,
    Placement,
    Program,
    Schedule,
    Searched,
    Simulation,
    StageMemory,
    Violation,
    __version__,
    linear,
    looped,
    mirror_placement,
    overlay_placements,
    read_pytorch,
    read_pytorch_program,
    v_shape,
    wave,
    write_pytorch,
)
from .algebra import (
    Operation,
    check,
    fold_in_half,
    fuse_backward,
    improve,
    lower,
    merge,
    mirror,
    overlay,
    recompute,
    relocate,
    reorder,
    repeat,
    retime,
    scale,
    shift,
    simulate,
    split_backward,
    squeeze,
    take,
    then,
    weights_in_first_gaps,
    with_interval,
    without_collisions,
)
from .comparing import Table, compare
from .emitting import emit
from .fusing import fuse_where_free
from .searching import search, search_layouts

__all__ = [name for name in dir() if not name.startswith("_")] + ["__version__"]
