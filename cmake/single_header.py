#!/usr/bin/env python3
"""One header out of many: what ashlar/ashlar.hpp includes, in one file that needs nothing beside it.

usage: single_header.py [--of HEADER] [-o FILE]
"""

import argparse
import re
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
DEFINITIONS = re.compile(r"^#ifndef ASHLAR_COMPILED\n#include <([^>]+\.ipp)>\n#endif\n", re.M)
OURS = re.compile(r"^#include <(ashlar/[^>]+)>.*\n?", re.M)
LANGUAGE = "ashlar/core/language.hpp"  # stands before all others
THEIRS = re.compile(r"^#include <([^>/]+)>.*\n?", re.M)


def gather(header, seen, bodies, standard):
    """Puts the header's text behind that of all that it includes, each once; its definitions stand behind it."""
    if header in seen:
        return
    seen.add(header)
    text = (INCLUDE / header).read_text()
    definitions = DEFINITIONS.findall(text)
    text = DEFINITIONS.sub("", text)
    for inner in OURS.findall(text):
        gather(inner, seen, bodies, standard)
    standard.update(THEIRS.findall(text))
    text = THEIRS.sub("", OURS.sub("", text)).replace("#pragma once\n", "")
    if re.search(r"^#include", text, re.M):
        sys.exit(f"{header}: includes what is neither ours nor a standard header on a line of its own")
    bodies.append(f"// {header}\n{text.strip()}\n")
    for inner in definitions:
        gather(inner, seen, bodies, standard)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--of", default="ashlar/ashlar.hpp", metavar="HEADER", help="the header (default: ashlar/ashlar.hpp)")
    options.add_argument("-o", metavar="FILE", help="where to write (default: standard output)")
    given = options.parse_args()
    bodies, standard = [], set()
    gather(given.of, {LANGUAGE}, bodies, standard)
    version = re.search(r'version\[\] = "([^"]+)"', (INCLUDE / "ashlar/core/version.hpp").read_text())[1]
    text = f"// Ashlar {version}, {given.of} and all that it includes. Apache-2.0. Made by cmake/single_header.py.\n#pragma once\n\n"
    text += (INCLUDE / LANGUAGE).read_text().replace("#pragma once\n\n", "") + "\n"
    text += "".join(f"#include <{name}>\n" for name in sorted(standard)) + "\n" + "\n".join(bodies)
    if given.o:
        Path(given.o).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
