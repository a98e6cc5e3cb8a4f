"""The claims of a file, each shown, refuted or open."""

from __future__ import annotations

import dataclasses
from typing import Any

from .bound import NoBound, makespan_bound
from .program import Program
from .schedule import Schedule, Unread, faults, peaks, read


_OF_A_PROGRAM = (
    "every pass runs once, after its inputs",
    "all instructions run, though sends wait for receives",
    "each read finds its value, and nothing is overwritten before its last read",
    "each gradient is added once, in the order given",
    "peaks of slots",
)


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str
    state: str
    """shown, refuted or open."""
    why: str = ""

    def __str__(self) -> str:
        return f"{self.state}: {self.name}" + (f" ({self.why})" if self.why else "")


def claims_of(document: Any) -> list[Claim]:
    """Checks the claims in the JSON of a schedule, or in a file of certificates. Takes any document, and never fails."""
    try:
        if isinstance(document, dict) and "ashlar_certificates" in document:
            if document["ashlar_certificates"] != 1:
                raise Unread("the certificates are of a version that is not known here")
            return [claim for one in document["certificates"] for claim in claims_of(one)]
        if isinstance(document, dict) and document.get("certificate") == "program":
            Program(document)
            return [Claim(f"{name} (program of {document.get('schedule')})", "shown") for name in _OF_A_PROGRAM]
        s = read(document)
        if (fault := next(faults(s), None)) is not None:
            return [Claim("valid", "refuted", fault)]
        return [Claim("valid", "shown"), *_figures(s, document), *_bounds(s, document), *_searched(s, document)]
    except Unread as error:
        return [Claim("valid", "open", str(error))]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        why = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        return [Claim("valid", "refuted", why)]


def _figures(s: Schedule, document: dict[str, Any]) -> list[Claim]:
    ends = max((one.end for one in s.passes()), default=0)
    spans = [line[-1].end - line[0].start if line else 0 for line in s.lines]
    busy = [sum(one.end - one.start for one in line) for line in s.lines]
    most = max(busy)
    found: dict[str, Any] = {
        "makespan": ends,
        "span": max(spans),
        "busy": busy,
        "bubble_rate": 1 - most / ends if ends else 0.0,
        "bubble_rate_span": 1 - most / max(spans) if max(spans) else 0.0,
    }
    kinds = {one.kind for one in s.passes()}
    if "R" not in kinds and kinds & set("BW"):
        found["peak_activations"] = peaks(s)
    if kinds & set("BIW"):
        found |= {"overhead": found["bubble_rate"], "overhead_span": found["bubble_rate_span"]} if "R" not in kinds else {}
    for which in ("makespan", "span"):
        least = document.get(f"{which}_bound")
        if type(least) is int and least > 0:
            found[f"{which}_gap"] = (found[which] - least) / least
    claims = []
    for name, value in found.items():
        if name in document:
            is_right = _is_near(document[name], value) if isinstance(value, float) else document[name] == value
            claims.append(Claim(name, "shown" if is_right else "refuted", "" if is_right else f"it is {value}"))
    return claims


def _is_near(a: Any, b: float) -> bool:
    return isinstance(a, (int, float)) and abs(a - b) < 1e-9


def _bounds(s: Schedule, document: dict[str, Any]) -> list[Claim]:
    if "makespan_bound" not in document:
        return []
    claimed, ends = document["makespan_bound"], max((one.end for one in s.passes()), default=0)
    spans = [Claim("span_bound", "open", "the arguments here are about makespans")] if "span_bound" in document else []
    name = f"no schedule ends before {claimed}"
    if type(claimed) is not int or claimed > ends:
        return [Claim(name, "refuted", f"this one ends at {ends}")]
    return [*_judged(name, s, peaks(s), claimed, "no schedule with this memory is shorter"), *spans]


def _judged(name: str, s: Schedule, limits: list[int], claimed: int, optimal: str) -> list[Claim]:
    """A claimed bound within limits, and if the schedule meets it, the claim `optimal`."""
    try:
        least = makespan_bound(s, limits)
    except NoBound as error:
        return [Claim(name, "open", str(error))]
    if least < claimed:
        return [Claim(name, "open", f"the arguments here say {least}")]
    meets = claimed == max(one.end for one in s.passes())
    return [Claim(name, "shown"), *([Claim(optimal, "shown")] if meets else [])]


def _searched(s: Schedule, document: dict[str, Any]) -> list[Claim]:
    """Checks the bound within the limit of a search."""
    if "objective" not in document:
        return []
    claimed, ends = document.get("bound"), max((one.end for one in s.passes()), default=0)
    name = f"no schedule within the limit of the search ends before {claimed}"
    if document["objective"] != "makespan" or document.get("limit_unit") != "chunk activations":
        return [Claim(name, "open", "the arguments here are about makespans, and limits in activations")]
    if document.get("reached") != ends or type(claimed) is not int or claimed > ends:
        return [Claim(name, "refuted", f"this one ends at {ends}")]
    if len(document.get("layouts", [])) != 1:
        return [Claim(name, "open", "it is the least of several layouts, and the file has the schedule of one")]
    limit = document["limit"]
    limits = limit if isinstance(limit, list) else [limit] * len(s.lines)
    if any(held > most for held, most in zip(peaks(s), limits)):
        return [Claim("it is within the limit", "refuted", f"devices hold {peaks(s)}")]
    return _judged(name, s, limits, claimed, "it is the shortest within the limit")
