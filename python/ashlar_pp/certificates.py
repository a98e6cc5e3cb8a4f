"""Programs that `ashlar_verify`, which shares no code with this package, has judged."""

from __future__ import annotations

import json

from ashlar_verify import claims_of

from ._core import Program


def must_be_certified(program: Program) -> None:
    """Raises ValueError with the reason unless the verifier accepts the program.

    It accepts one whose certificate shows that all passes run once and after their
    inputs, that no sends and receives wait for each other, and that every gradient is
    added once.

    Args:
        program (Program): What is about to run.
    """
    try:
        certificate = program.certificate()
    except ValueError as error:
        raise ValueError(
            f"require_certificate is set, and the program has no certificate: {error}"
        ) from None
    for claim in claims_of(json.loads(certificate)):
        if claim.state != "shown":
            raise ValueError(
                "require_certificate is set, and ashlar_verify does not accept the "
                f"program: {claim}"
            )
