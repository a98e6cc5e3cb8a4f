"""What is measured: a call, and its time by the cost model's formulas."""

import dataclasses
from collections.abc import Callable

from .team import Team


@dataclasses.dataclass
class Sample:
    """A call whose seconds are a sum of coefficients times unknowns."""

    kind: str  # samples of a kind are solved together
    name: str
    terms: dict[str, float]
    call: Callable[[], object]
    is_launch: bool = False  # the host's time alone
    seconds: list[float] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large samples are: a GPU's, or a processor's."""

    tokens: int
    rows: int  # of kernels that move bytes: so many that no cache holds them
    hidden: int
    width: int
    heads: int
    vocabulary: int
    sequences: tuple[int, ...]
    exchanged: tuple[int, ...]  # bytes
    least: float  # seconds that a sample is repeated for


def sizes_for(team: Team, share: float = 1) -> Sizes:
    """`share` below 1 makes a processor's smaller, for tests."""
    if team.has_gpu:
        return Sizes(
            tokens=8192,
            rows=8192,
            hidden=4096,
            width=14336,
            heads=32,
            vocabulary=32768,
            sequences=(2048, 8192),
            exchanged=(1 << 12, 1 << 18, 1 << 24, 1 << 28),
            least=0.05,
        )
    width = max(64, int(512 * share) // 64 * 64)
    return Sizes(
        tokens=2 * width,
        rows=16 * width,
        hidden=width,
        width=2 * width + width // 2,
        heads=width // 64,
        vocabulary=8 * width,
        sequences=(width // 2, width),
        exchanged=(1 << 10, 1 << 17, int((1 << 22) * share), int((1 << 24) * share)),
        least=0.03 * share,
    )
