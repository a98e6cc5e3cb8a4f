#!/usr/bin/env python3
"""The documentation has the commands that the container files run, and the tree the files that they name.

usage: containers.py ROOT
"""
import re
import sys
from pathlib import Path


def documented(root):
    """The commands of the shell blocks of the pages; a prefix of a user's own is any."""
    text = "".join(page.read_text() for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))])
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)) + "".join(re.findall(r"`([^`\n]+)`", text))
    return re.sub(r'"?\$HOME"?/ashlar/', "", blocks).replace('"', "")


def main():
    root = Path(sys.argv[1]).resolve()
    known, setup = documented(root), (root / "cmake/setup-debian.sh").read_text()
    files, complaints = sorted((root / "cmake/recipes/containers").glob("*.Containerfile")), []
    for file in files:
        for command in re.findall(r"^RUN (.*)$", file.read_text(), re.M):
            for one in command.replace("/root/ashlar/", "").split(" && "):
                words = one.split()
                if words[:2] == ["rm", "-rf"] or one == "apt-get update":
                    continue
                if words[:2] == ["apt-get", "install"]:
                    missing = [word for word in words[2:] if word[0] not in "-/" and not re.search(rf"[\" ]{re.escape(word)}[\" ]", setup)]
                    complaints += [f"{file.name}: cmake/setup-debian.sh knows no package {word}" for word in missing]
                elif re.sub(r" --prefix .*| tool$", "", one) not in known:
                    complaints.append(f"{file.name}: no page has the command {one}")
                elif "/" in words[0] and not (root / words[0]).is_file():
                    complaints.append(f"{file.name}: no file {words[0]}")
    for complaint in complaints:
        print(complaint)
    print(f"{len(files)} container files, {len(complaints)} complaints")
    return bool(complaints) or not files


if __name__ == "__main__":
    sys.exit(main())
