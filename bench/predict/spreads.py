"""How far predictions are from runs of sources that had no part in the fit.

An error is the logarithm of measured over predicted. Its variance has three parts: within a source, between sources, and beyond the data.
"""
import collections
import math

import numpy as np
from scipy.stats import norm as normal
from scipy.stats import t as student

MOST = 40  # rows of one source and kind count as at most this many
PRIOR = 3  # cells that the spread of all kinds counts as, beside those of a kind


def cells(kinds, sources, errors):
    """Errors by kind of run, and in it by source."""
    by = collections.defaultdict(lambda: collections.defaultdict(list))
    for kind, source, error in zip(kinds, sources, errors):
        if error == error:  # left out
            by[kind][source].append(error)
    return by


def variances(found):
    """Variance of errors about their source's mean, and of these means about 0, of some cells; each with its weight."""
    within = between = freedom = count = 0.0
    for errors in found:
        share = min(len(errors), MOST)
        if len(errors) > 1:
            within += (share - 1) * np.var(errors, ddof=1)
            freedom += share - 1
        weight = len(errors) / (len(errors) + 2)  # the mean of few says little
        between += weight * np.mean(errors) ** 2
        count += weight
    return within, freedom, between, count


def spreads(kinds, sources, errors):
    """Standard deviations by kind of run. A kind with few sources is drawn towards the spread of all; `between` is as wide as Student's
    distribution for so few, beside the normal one."""
    by = cells(kinds, sources, errors)
    within, freedom, between, count = variances([cell for some in by.values() for cell in some.values()])
    all_within, all_between = within / freedom, between / count
    made = {}
    for kind, some in sorted(by.items()):
        within, freedom, between, count = variances(some.values())
        few = student.ppf(.95, len(some) + PRIOR - 1) / normal.ppf(.95)
        made[kind] = {"within": math.sqrt((within + PRIOR * all_within) / (freedom + PRIOR)),
                      "between": few * math.sqrt((between + PRIOR * all_between) / (count + PRIOR)),
                      "runs": sum(map(len, some.values())), "sources": len(some)}
        for part in ("within", "between"):
            made[kind][part] = float(f"{made[kind][part]:.3g}")
    return made


def deviations(made, kinds, sources, errors):
    """Ends of the interval in standard deviations: of errors over the spread of their kind, 5 % are beyond each; a source counts like another."""
    found = collections.defaultdict(list)
    for kind, source, error in zip(kinds, sources, errors):
        if error == error:
            found[source].append(error / math.hypot(made[kind]["within"], made[kind]["between"]))
    values = np.concatenate([np.array(some) for some in found.values()])
    weights = np.concatenate([np.full(len(some), min(len(some), MOST) / len(some)) for some in found.values()])
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    low, high = np.interp([.05, .95], share, values[order])
    end = normal.ppf(.95)
    return {"low": float(f"{min(low, -end):.3g}"), "high": float(f"{max(high, end):.3g}")}


def beyond(made, groups):
    """The standard deviation that means of sources have more if nothing like the run was in the fit: groups of (kinds, sources, errors), each
    predicted without any such run."""
    more = weight = 0.0
    for kinds, sources, errors in groups:
        for kind, some in cells(kinds, sources, errors).items():
            _, _, between, count = variances(some.values())
            more += between - count * made[kind]["between"] ** 2
            weight += count
    return float(f"{math.sqrt(max(more / weight, .05 ** 2)):.3g}")
