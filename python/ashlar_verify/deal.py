"""Samples dealt to micro-batches: in every deal, one takes no less.

A sample's time is that of three passes, given for one sequence: a share of each grows
with the square of the length, the rest with the length. Some micro-batch takes no less
than the mean of all, and than the longest sample. Of the longest samples, one more than
there are micro-batches, two must share one.
"""

from __future__ import annotations

from typing import Any

from .schedule import know, need, whole, wholes

_KEYS = set(
    "certificate schedule lengths tokens passes micro_batches most_tokens longest "
    "least".split()
)


def deal(document: dict[str, Any]) -> list[str]:
    """The claims of a deal, if they hold. Raises Unread for unknown parts, else Wrong.
    O(n log n) for n samples.
    """
    know(document, _KEYS, "the deal")
    lengths, tokens = wholes(document["lengths"], 1), whole(document["tokens"], 1)
    passes = [wholes(one) for one in document["passes"]]
    need(all(share <= 100 for _, share in passes), "a share is more than the whole")
    unit = 100 * tokens**2
    """Parts of a tick, so that all times are whole."""
    weights = [
        sum(t * n * ((100 - share) * tokens + share * n) for t, share in passes)
        for n in lengths
    ]
    dealt = [wholes(one) for one in document["micro_batches"]]
    samples = sorted(sample for one in dealt for sample in one)
    need(samples == [*range(len(lengths))], "not every sample is dealt once")
    need(all(dealt), "a micro-batch is empty")
    most = whole(document.get("most_tokens", sum(lengths)))
    held = max(sum(lengths[sample] for sample in one) for one in dealt)
    need(held <= most, "a micro-batch has {} tokens", held)
    own = max(sum(weights[sample] for sample in one) for one in dealt)
    longest, least = whole(document["longest"]), whole(document["least"])
    need(own <= longest * unit, "the longest one takes {}", -(-own // unit))
    heavy, m = sorted(weights, reverse=True), len(dealt)
    known = max(-(-sum(heavy) // m), heavy[0], sum(heavy[m - 1 : m + 1]))
    need(least * unit <= known, "the argument says {}", known // unit)
    dealt_once = "each sample is in one micro-batch, and none takes more than"
    return [
        f"{dealt_once} {longest} ticks",
        f"in every deal, one takes no less than {least} ticks",
    ]
