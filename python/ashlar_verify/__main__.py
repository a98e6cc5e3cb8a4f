"""python -m ashlar_verify FILE ..."""

import argparse
import json
import sys

from . import __doc__ as about
from .claims import Claim, claims_of


def main() -> int:
    parser = argparse.ArgumentParser("python -m ashlar_verify", description=about)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    words = "JSON of a schedule, or certificates; - is standard input"
    parser.add_argument("files", nargs="+", metavar="FILE", help=words)
    is_refuted = False
    for name in parser.parse_args().files:
        try:
            with sys.stdin if name == "-" else open(name, encoding="utf-8") as file:
                claims = claims_of(json.load(file))
        except (OSError, ValueError, RecursionError) as error:
            claims = [Claim("valid", "refuted", f"it cannot be read: {error}")]
        print(name, *claims, sep="\n  ")
        is_refuted = is_refuted or any(claim.state == "refuted" for claim in claims)
    return int(is_refuted)


if __name__ == "__main__":
    sys.exit(main())
