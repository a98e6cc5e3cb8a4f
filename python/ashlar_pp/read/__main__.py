"""python -m ashlar_pp.read NOUN ..."""

import argparse
import importlib
import sys

# Each noun is a module here, with `arguments(parser)` and `run(given)`.
NOUNS = {
    "model": "a model, as its own code builds and runs it",
    "launch": "the run of a launch script, as bash runs it",
    "recipe": "the run of a framework's configuration file",
}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m ashlar_pp.read")
    nouns = parser.add_subparsers(dest="noun", required=True)
    for name, about in NOUNS.items():
        own = nouns.add_parser(name, help=about)
        if words[:1] == [name]:
            # Alone: another noun may need packages that are not there.
            importlib.import_module(f".{name}", __package__).arguments(own)
    given = parser.parse_args(words)
    module = importlib.import_module(f".{given.noun}", __package__)
    status: int = module.run(given)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
