"""Layouts of a training on a cluster: none of those that were tried takes less.

A step takes a device the passes of all its micro-batches, what it waits for the first
and the last passes of other devices, and what it does once. These times and the bytes
are given, as costs of passes are; so is the time of a step that is simulated instead.
Of each layout there is the device that takes longest, and the bytes that any holds.
"""

from __future__ import annotations

from typing import Any

from .schedule import know, need, whole, wholes

_KEYS = set("certificate schedule room first nanoseconds least layouts".split())
_ROW = set("layout micro_batches passes fill rest bytes simulated".split())


def plan(document: dict[str, Any]) -> list[str]:
    """The claims of a plan, if they hold. Raises Unread for unknown parts, or Wrong."""
    know(document, _KEYS, "the plan")
    rows, room = document["layouts"], whole(document["room"])
    fitting = [row for row in rows if whole(row["bytes"]) <= room]
    if "first" not in document:
        need(not fitting, "{} fit", len(fitting))
        return [f"of {len(rows)} layouts, none fits"]
    own, least = document["first"], whole(document["least"])
    time = _time(own)
    need(whole(own["bytes"]) <= room, "the first does not fit")
    need(whole(document["nanoseconds"]) == time, "the first takes {}", time)
    for row in fitting:
        need(least <= _time(row), "{} takes {}", row["layout"], _time(row))
    given = sum("simulated" in row for row in fitting)
    others = f"of {len(rows)} layouts, none that fits takes less than {least} ns"
    how = ", as it is simulated" if "simulated" in own else ""
    return [
        f"the first fits, and takes {time} ns{how}",
        others + f"; simulated steps of {given} are given" * (given > 0),
    ]


def _time(row: dict[str, Any]) -> int:
    know(row, _ROW, "a layout")
    passes = sum(sum(wholes(one)) for one in row["passes"])
    all_of_them = whole(row["micro_batches"], 1) * passes
    own = all_of_them + whole(row["fill"]) + whole(row["rest"])
    return whole(row.get("simulated", own))
