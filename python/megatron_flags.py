"""Writes ashlar_pp/read/megatron_flags.json: which arguments Megatron-LM takes, and how
many words each has, with fields, defaults and the words that it takes alone.

usage: megatron_flags.py MEGATRON_LM

MEGATRON_LM is a checkout. Its parser is made and asked; that takes torch, and the
Python that the checkout needs.
"""

import argparse
import importlib
import json
import pathlib
import sys

FILE = pathlib.Path(__file__).parent / "ashlar_pp" / "read" / "megatron_flags.json"


def flags_of(parser):
    """For each argument its names, the longest way to write it first, and its words."""
    made = []
    for action in parser._actions:
        names = [name for name in action.option_strings if name.startswith("--")]
        if names and names != ["--help"]:
            words = 1 if action.nargs is None else action.nargs
            flag = {"names": names, "words": words, "field": action.dest}
            if isinstance(action.default, bool | int | float | str):
                flag["default"] = action.default
            # Forks have tokenizers of their own, which change no step.
            if action.choices and action.dest != "tokenizer_type":
                named = [getattr(each, "name", each) for each in action.choices]
                flag["choices"] = [str(each) for each in named]
            made.append(flag)
    return sorted(made, key=lambda flag: flag["names"])


def main(checkout):
    sys.path.insert(0, checkout)
    version = importlib.import_module("megatron.core.package_info").__shortversion__
    arguments = importlib.import_module("megatron.training.arguments")
    parser = argparse.ArgumentParser()
    arguments.add_megatron_arguments(parser)
    lines = ",\n".join("  " + json.dumps(flag) for flag in flags_of(parser))
    source = "megatron/training/arguments.py of NVIDIA/Megatron-LM"
    head = f'"source": {json.dumps(source)},\n "version": {json.dumps(version)}'
    FILE.write_text(f'{{{head},\n "flags": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
