<<<<<<< HEAD
"""python -m ashlar_pp.read NOUN ..."""

import argparse
import importlib
import sys

# Each noun is a module here, with `arguments(parser)` and `run(given)`.
NOUNS = {
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
=======
"""python -m ashlar_pp.read COMMAND ..."""

import importlib
import sys

# Each command with the module that has its `main(arguments)`, and a line about it.
COMMANDS = {
    "model": (".model", "a model, as its own code builds and runs it"),
}


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit code."""
    if not arguments or arguments[0] not in COMMANDS:
        lines = [f"  {name:8}{about}" for name, (_, about) in COMMANDS.items()]
        print("usage: python -m ashlar_pp.read COMMAND ...", *lines, sep="\n")
        return 0 if arguments in (["-h"], ["--help"]) else 1
    module = importlib.import_module(COMMANDS[arguments[0]][0], __package__)
    status: int = module.main(arguments[1:])
>>>>>>> c56d54dc (Models are read by their own code, and keys that transformers ignores refuse no file)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
