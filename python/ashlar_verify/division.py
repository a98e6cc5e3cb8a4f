"""A division of a model's parts into stages of consecutive ones: none takes less.

A step takes the longest `pace` of the stages and the sum of all that goes `through`
them. A stage holds the `resident` bytes of its piece, and `kept` bytes for each
micro-batch in flight. Times and bytes of the pieces are given, as costs of passes are.

Later stages only raise the longest pace, and add to the sum. So of the ways to divide
the first parts over the first stages, those matter that no other has both a pace no
longer and a sum no larger.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from .schedule import know, need, whole, wholes

_KEYS = set(
    "certificate schedule parts pieces in_flight room ends nanoseconds least".split()
)
Way = tuple[int, int]
"""The longest pace, and the sum."""


def division(document: dict[str, Any]) -> list[str]:
    """The claims of a division, if they hold. Raises Unread for unknown parts, else
    Wrong. O(s n^2) times the ways that matter, for n parts and s stages.
    """
    know(document, _KEYS, "the division")
    parts, room = whole(document["parts"], 1), whole(document["room"])
    pieces: dict[tuple[int, int], list[int]] = {}
    for first, end, *of in document["pieces"]:
        need(whole(first) < whole(end) <= parts, "{}-{} is no piece", first, end)
        need((first, end) not in pieces, "the piece {}-{} is there twice", first, end)
        pieces[first, end] = wholes(of)
    need(2 * len(pieces) == parts * (parts + 1), "there are more pieces of the parts")
    in_flight, ends = wholes(document["in_flight"]), wholes(document["ends"])
    need(len(ends) == len(in_flight) > 0, "it has another number of stages")
    need(ends[-1] == parts, "it has another number of parts")
    time, own = whole(document["nanoseconds"]), (0, 0)
    ways: dict[int, list[Way]] = {0: [own]}
    for first, end, held in zip([0, *ends], ends, in_flight):
        found: dict[int, list[Way]] = collections.defaultdict(list)
        for (start, stop), (pace, through, resident, kept) in pieces.items():
            if resident + held * kept <= room:
                before = ways.get(start, [])
                found[stop] += [
                    (max(pace, most), through + sum_) for most, sum_ in before
                ]
        ways = {stop: shortest(made) for stop, made in found.items()}
        pace, through, resident, kept = pieces[first, end]
        need(resident + held * kept <= room, "the stage to part {} does not fit", end)
        own = max(own[0], pace), own[1] + through
    need(sum(own) == time, "it takes {}", sum(own))
    known, least = min(map(sum, ways[parts])), whole(document["least"])
    need(least <= known, "another one takes {}", known)
    fits = f"its stages fit, and a step takes {time} ns"
    return [fits, f"no division that fits takes less than {least} ns"]


def shortest(ways: Iterable[Way]) -> list[Way]:
    """Those of which no other has both a pace no longer and a sum no larger."""
    found: list[Way] = []
    for way in sorted(ways):
        if not found or way[1] < found[-1][1]:
            found.append(way)
    return found
