"""Least squares of the logarithms of times, with no unknown below zero."""

import itertools
import math
import statistics
from collections.abc import Sequence

import torch

ROUNDS = 10  # in which the weights of rows settle


def linear(rows: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The x >= 0 with the least |rows x - wanted|^2. Tries which unknowns are zero, so
    it is for a few: 2^n small systems.
    """
    # An unknown's own size takes no part in the rank.
    scale = rows.norm(dim=0).clamp_min(1e-300)
    best, least = torch.zeros_like(scale), float(wanted.square().sum())
    for count in range(1, len(scale) + 1):
        for used in itertools.combinations(range(len(scale)), count):
            part = rows[:, list(used)] / scale[list(used)]
            found = torch.linalg.lstsq(part, wanted[:, None], driver="gelsd").solution
            loss = float((part @ found - wanted[:, None]).square().sum())
            if float(found.min()) < 0 or loss >= least * (1 - 1e-9):
                continue
            best, least = torch.zeros_like(scale), loss
            best[list(used)] = found[:, 0] / scale[list(used)]
    return best


def solve(rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """The x >= 0 for which rows . x are nearest to the seconds, by logarithms.

    An error counts over the root of both, so that twice is as far as half.
    """
    matrix = torch.tensor(rows, dtype=torch.float64)
    measured = torch.tensor(seconds, dtype=torch.float64)
    by, x = measured, torch.zeros(matrix.shape[1], dtype=torch.float64)
    for _ in range(ROUNDS):
        x = linear(matrix / by[:, None], measured / by)
        by = (measured * (matrix @ x).clamp_min(1e-3 * measured)).sqrt()
    return [float(each) for each in x.tolist()]


def misfit(
    rows: Sequence[Sequence[float]], seconds: Sequence[float], x: Sequence[float]
) -> float:
    """The root of the mean square of relative errors."""
    errors = [
        sum(a * b for a, b in zip(row, x)) / s - 1 for row, s in zip(rows, seconds)
    ]
    return math.sqrt(statistics.fmean(e * e for e in errors))
