"""The claims of a file, each shown, refuted or open."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from .bound import bound
from .deal import deal
from .division import division
from .partition import partition
from .plan import plan
from .program import program
from .schedule import (
    Schedule,
    Unread,
    Wrong,
    must_be_valid,
    need,
    peaks,
    read,
    times,
    whole,
    wholes,
)
from .tradeoff import tradeoff

_JUDGES = {
    "program": program,
    "division": division,
    "deal": deal,
    "partition": partition,
    "tradeoff": tradeoff,
    "plan": plan,
}
"""By kind of certificate: what returns its claims, or raises an error if one fails."""
_UNREADABLE = (KeyError, TypeError, IndexError, AttributeError, ArithmeticError)


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
    claims: list[Claim] = []
    try:
        claims += _claims(document)
    except (ValueError, *_UNREADABLE) as error:
        state = "open" if isinstance(error, Unread) else "refuted"
        is_missing = isinstance(error, KeyError)
        why = f"{error.args[0]!r} is missing" if is_missing else str(error)
        claims.append(Claim("valid", state, why))
    return claims or [Claim("certificates", "open", "there are none")]


def _claims(document: Any) -> Iterator[Claim]:
    if isinstance(document, dict) and "ashlar_certificates" in document:
        if document["ashlar_certificates"] != 1:
            raise Unread("the certificates are of a version that is not known here")
        for one in document["certificates"]:
            yield from claims_of(one)
    elif isinstance(document, dict) and document.get("certificate") in _JUDGES:
        kind = document["certificate"]
        own = [
            f"{name} ({kind} of {document.get('schedule')})"
            for name in _JUDGES[kind](document)
        ]
        state = "shown"
        for one in document.get("schedules", []):
            for claim in claims_of(one):
                yield claim
                if claim.state != "shown":
                    state = "open"
        why = "" if state == "shown" else "its schedules are not what they claim"
        yield from (Claim(name, state, why) for name in own)
    else:
        s = read(document)
        must_be_valid(s)
        yield Claim("valid", "shown")
        for name, value in _figures(s, document).items():
            if name in document:
                is_right = _is_same(document[name], value)
                state = "shown" if is_right else "refuted"
                yield Claim(name, state, "" if is_right else f"it is {value}")
        for of in ("makespan", "span"):
            if f"{of}_bound" in document:
                why = "`ashlar check FILE --certificate OUT` writes the argument"
                name = f"no schedule has a {of} below {document[f'{of}_bound']}"
                yield Claim(name, "open", why)
        for one in document.get("bounds", []):
            yield from _judged(s, one)


def _is_same(said: Any, value: Any) -> bool:
    if type(said) not in (int, float, list):
        return False
    return bool(abs(said - value) < 1e-9 if type(value) is float else said == value)


def _figures(s: Schedule, document: dict[str, Any]) -> dict[str, Any]:
    ends, longest = times(s)
    alone = [[one for one in line if not one.beside] for line in s.lines]
    busy, own = (
        [sum(one.end - one.start for one in line if one.kind != but) for line in alone]
        for but in ("", "R")
    )
    found: dict[str, Any] = {"makespan": ends, "span": longest}
    found |= {"busy": busy, "peak_activations": peaks(s)}
    for name, work in (("bubble_rate", busy), ("overhead", own)):
        found[name] = 1 - max(work) / ends if ends else 0.0
        found[f"{name}_span"] = 1 - max(work) / longest if longest else 0.0
    for of in ("makespan", "span"):
        least = document.get(f"{of}_bound")
        if type(least) is int and least > 0:
            found[f"{of}_gap"] = (found[of] - least) / least
    return found


def _judged(s: Schedule, one: dict[str, Any]) -> Iterator[Claim]:
    """A claimed bound within limits, and that it is reached."""
    of, least, limits = one["of"], one["least"], one.get("limits")
    within = "any memory" if limits is None else f"the memory {limits}"
    name = f"no schedule within {within} has a {of} below {least}"
    try:
        need(of in ("makespan", "span"), "it is of another time")
        need(whole(least) == least, "it is no time")
        fits = True
        if limits is not None:
            is_of_each = len(wholes(limits, 1)) == len(s.lines)
            need(is_of_each, "it needs a limit of each device")
            fits = all(own <= most for own, most in zip(peaks(s), limits))
        need(not s.splits or one.get("splits", True), "this one splits backwards")
        reached = times(s)[of == "span"]
        need(not fits or least <= reached, "that of this one is {}", reached)
        known = bound(s, one)
        need(least <= known, "the argument says {}", known)
    except (Unread, Wrong) as error:
        yield Claim(
            name, "open" if isinstance(error, Unread) else "refuted", str(error)
        )
        return
    yield Claim(name, "shown")
    if fits and least == reached:
        yield Claim(f"its {of} is the shortest within this memory", "shown")
