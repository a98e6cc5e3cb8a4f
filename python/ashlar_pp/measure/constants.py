"""Constants from measured times, by the cost model's formulas solved for them.

A constant is solved from the medians over rounds. Its ends are the smallest and the
largest of this and the rounds' own solutions, without the outer twentieths; its spread
is the deviation of the logarithm that these and the misfit of the samples show.
"""

import dataclasses
import math
import statistics
from collections.abc import Sequence

from .devices import Device
from .samples import Sample
from .solving import misfit, solve

LEAST = 1e-9  # of a constant: the tool takes none that is zero


@dataclasses.dataclass(frozen=True)
class Solved:
    """Unknowns by name, each with a value for every round; and the misfit."""

    names: tuple[str, ...]
    value: dict[str, float]
    rounds: dict[str, list[float]]
    misfit: float
    samples: int


def solved(samples: Sequence[Sample], names: tuple[str, ...]) -> Solved:
    rows = [[each.terms.get(name, 0.0) for name in names] for each in samples]
    medians = [statistics.median(each.seconds) for each in samples]
    value = solve(rows, medians)
    count = min(len(each.seconds) for each in samples)
    by_round = [
        solve(rows, [each.seconds[at] for each in samples]) for at in range(count)
    ]
    return Solved(
        names,
        dict(zip(names, value)),
        {name: [x[at] for x in by_round] for at, name in enumerate(names)},
        misfit(rows, medians, value),
        len(samples),
    )


@dataclasses.dataclass(frozen=True)
class Constant:
    value: float
    low: float
    high: float
    spread: float  # of the logarithm
    how: str

    def lines(self) -> dict[str, object]:
        return {
            "value": float(f"{self.value:.4g}"),
            "low": float(f"{self.low:.4g}"),
            "high": float(f"{self.high:.4g}"),
            "spread": float(f"{self.spread:.3g}"),
            "source": "measured",
            "how": self.how,
        }


def ends_of(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    cut = len(ordered) // 20
    return ordered[cut], ordered[-1 - cut]


def made(
    value: float,
    rounds: Sequence[float],
    of_samples: float,
    how: str,
    most: float = math.inf,
) -> Constant:
    """`most` is 1 for shares."""

    def within(x: float) -> float:
        return min(max(x, LEAST), most)

    logs = [math.log(within(x)) for x in rounds]
    between = statistics.stdev(logs) if len(logs) > 1 else 0.0
    low, high = ends_of([within(x) for x in [*rounds, value]])
    spread = min(math.hypot(between, of_samples), 3.0)
    return Constant(within(value), low, high, spread, how)


class Measured:
    """All samples of a machine, and the constants that they make.

    Figures are those of a data sheet, or else the highest that were measured.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        device: Device,
        main_bits: int,
        figures: dict[str, float] | None = None,
    ) -> None:
        self.samples = [each for each in samples if each.seconds]
        self.device = device
        self.main_bits = main_bits
        self.figures = dict(figures or {})
        self.constants: dict[str, Constant] = {}
        self.assumed: dict[str, str] = {}
        self.checked: dict[str, float] = {}  # by formulas, over the measured time

    def of(self, kind: str) -> list[Sample]:
        return [each for each in self.samples if each.kind == kind]

    def figure(self, name: str, found: float) -> float:
        """The sheet's figure, or else this one, which then is the machine's."""
        return self.figures.setdefault(name, found)

    def share(
        self,
        name: str,
        solution: Solved,
        unknown: str,
        figure: float,
        how: str,
    ) -> None:
        """A rate over its figure; an unknown is seconds for each unit."""
        if not solution.value[unknown] > 0:
            self.assumed[name] = f"{how}: no time is due to it"
            return
        self.constants[name] = made(
            1 / solution.value[unknown] / figure,
            [1 / x / figure for x in solution.rounds[unknown] if x > 0],
            solution.misfit / math.sqrt(solution.samples),
            how,
            most=1.0,
        )

    def plain(
        self,
        name: str,
        value: float,
        rounds: Sequence[float],
        of_samples: float,
        how: str,
        most: float = math.inf,
    ) -> None:
        self.constants[name] = made(value, rounds, of_samples, how, most)
