"""The claims of a file, each shown, refuted or open."""

from __future__ import annotations

import dataclasses
from typing import Any

from .bound import NoBound, bound
from .program import Program
from .schedule import Schedule, Unread, faults, peaks, read, times

_OF_A_PROGRAM = (
    "every pass runs once, after its inputs",
    "all instructions run, though sends wait for receives",
    "each read finds its value, and nothing is overwritten before its last read",
    "each gradient is added once, in the order given",
    "peaks of slots",
)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of a document, and what became of it.

    Args:
        name (str): the claim in words.
        state (str): ``"shown"``, ``"refuted"`` or ``"open"``.
        why (str): the reason, where it is not shown.
    """

    name: str
    state: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.state}: {self.name}" + (f" ({self.why})" if self.why else "")


def claims_of(document: Any) -> list[Claim]:
    """Checks claims of a schedule or of certificates. Never fails, on any document.

    Args:
        document: a JSON document, as ``json.load`` gives it.

    Returns:
        list[Claim]: every claim that the document makes, at least one.
    """
    try:
        if isinstance(document, dict) and "ashlar_certificates" in document:
            if document["ashlar_certificates"] != 1:
                raise Unread("the certificates are of a version that is not known here")
            found = [
                claim for one in document["certificates"] for claim in claims_of(one)
            ]
            return found or [Claim("certificates", "open", "there are none")]
        if isinstance(document, dict) and document.get("certificate") == "program":
            Program(document)
            return [
                Claim(f"{name} (program of {document.get('schedule')})", "shown")
                for name in _OF_A_PROGRAM
            ]
        s = read(document)
        if (fault := next(faults(s), None)) is not None:
            return [Claim("valid", "refuted", fault)]
        return [Claim("valid", "shown"), *_figures(s, document), *_bounds(s, document)]
    except Unread as error:
        return [Claim("valid", "open", str(error))]
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        ArithmeticError,
    ) as error:
        why = (
            f"{error.args[0]!r} is missing"
            if isinstance(error, KeyError)
            else str(error)
        )
        return [Claim("valid", "refuted", why)]


def _figures(s: Schedule, document: dict[str, Any]) -> list[Claim]:
    ends, longest = times(s)
    busy, own = (
        [
            sum(
                one.end - one.start
                for one in line
                if not one.beside and one.kind not in but
            )
            for line in s.lines
        ]
        for but in ("", "R")
    )
    found: dict[str, Any] = {
        "makespan": ends,
        "span": longest,
        "busy": busy,
        "peak_activations": peaks(s),
    }
    for name, work in (("bubble_rate", busy), ("overhead", own)):
        found |= {
            name: 1 - max(work) / ends if ends else 0.0,
            f"{name}_span": 1 - max(work) / longest if longest else 0.0,
        }
    for which in ("makespan", "span"):
        least = document.get(f"{which}_bound")
        if type(least) is int and least > 0:
            found[f"{which}_gap"] = (found[which] - least) / least
    claims = []
    for name, value in found.items():
        if name in document:
            is_right = (
                _is_near(document[name], value)
                if isinstance(value, float)
                else document[name] == value
            )
            claims.append(
                Claim(
                    name,
                    "shown" if is_right else "refuted",
                    "" if is_right else f"it is {value}",
                )
            )
    return claims


def _is_near(a: Any, b: float) -> bool:
    return isinstance(a, (int, float)) and abs(a - b) < 1e-9


def _bounds(s: Schedule, document: dict[str, Any]) -> list[Claim]:
    """Judges bounds of certificates, searches, and schedules within peak memory."""
    found = list(document.get("bounds", []))
    for of in ("makespan", "span"):
        if f"{of}_bound" in document:
            found.append(
                {
                    "of": of,
                    "least": document[f"{of}_bound"],
                    "limits": [max(peaks(s))] * len(s.lines),
                }
            )
    if "objective" in document:
        limit, layouts = document["limit"], document["layouts"]
        if (
            document["objective"] == "program"
            or document["limit_unit"] != "chunk activations"
            or len(layouts) != 1
        ):
            why = (
                "it is of programs, in another unit than activations, "
                "or the least of several layouts"
            )
            return [
                Claim(f"the search ends at {document['bound']} at least", "open", why),
                *_judged_all(s, found),
            ]
        limits = limit if isinstance(limit, list) else [limit] * len(s.lines)
        found.append(
            {"of": document["objective"], "least": document["bound"], "limits": limits}
        )
        if (
            document["reached"]
            != dict(zip(("makespan", "span"), times(s)))[document["objective"]]
        ):
            return [
                Claim(
                    "what the search reached",
                    "refuted",
                    f"makespan and span are {times(s)}",
                )
            ]
    return _judged_all(s, found)


def _judged_all(s: Schedule, found: list[dict[str, Any]]) -> list[Claim]:
    return [claim for one in found for claim in _judged(s, one)]


def _judged(s: Schedule, one: dict[str, Any]) -> list[Claim]:
    """A claimed bound within limits, and that it is reached."""
    of, least, limits, argument = (
        one["of"],
        one["least"],
        one["limits"],
        one.get("argument"),
    )
    splits = one.get("splits", s.splits)
    reached, held = dict(zip(("makespan", "span"), times(s)))[of], peaks(s)
    name = f"no schedule within the memory {limits} has a {of} below {least}"
    if len(limits) != len(s.lines) or any(
        type(limit) is not int or limit < 1 for limit in limits
    ):
        return [Claim(name, "refuted", "it needs a limit of each device")]
    if s.splits and splits is not True:
        return [Claim(name, "refuted", "this one splits backwards")]
    if (
        type(least) is not int
        or least > reached
        and all(own <= most for own, most in zip(held, limits))
    ):
        return [
            Claim(
                name,
                "refuted",
                f"that of this one is {reached}, and devices hold {held}",
            )
        ]
    try:
        known = bound(s, of, limits, splits, argument)
    except NoBound as error:
        return [Claim(name, "open", str(error))]
    if known < least:
        return [
            Claim(name, "refuted" if argument else "open", f"the argument says {known}")
        ]
    is_optimal = least == reached and all(
        own <= most for own, most in zip(held, limits)
    )
    return [
        Claim(name, "shown"),
        *(
            [Claim(f"its {of} is the shortest within this memory", "shown")]
            if is_optimal
            else []
        ),
    ]
