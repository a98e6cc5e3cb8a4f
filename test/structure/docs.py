#!/usr/bin/env python3
"""The documentation tells the truth: its code is what stands in the tree, compiles and runs, and its links lead somewhere.

usage: docs.py links|catalog|code|commands|script ROOT [COMPILER LIBRARY [PAGE]|TOOL [--write]|PAGE]

links  every relative link of a Markdown file leads to a file of the tree.
catalog  docs/catalog.md has a row for each schedule of the catalog, and for no other.
code   a fenced block after `<!-- example: PATH -->` stands word for word in the file PATH (from the top);
       a ```cpp block with an `int main` is a whole program: it compiles without warnings with COMPILER and LIBRARY (ashlar::compiled),
       runs, and returns 0;
       a fenced block after `<!-- prints -->` is what the program before it prints. With PAGE, of this page alone.
commands  a ```console block is one command after `$ ` and what it prints. A page's commands run one after the other in one
       new folder, where TOOL is `ashlar`, Ashlar is installed in `$HOME/ashlar`, and a fenced block after `<!-- file: NAME -->`
       stands in the file NAME. With --write the pages are brought up to date.
script prints a shell script that follows PAGE from its start: it writes the page's files, runs the blocks after
       `<!-- command: NAME -->`, and compares what the ```console blocks print.
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-pthread", "-DASHLAR_COMPILED"]
BLOCK = re.compile(r"^(?:<!-- *(example|prints|file|command)(?:: *(\S+))? *-->\n+)?```(\w*)\n(.*?)^```$", re.M | re.S)


def pages(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def anchors(page):
    """The names that links may use: its headings in lower case, with a hyphen for each space and no other marks."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).replace(" ", "-") for heading in headings}


def links(root):
    wrong = 0
    for page in pages(root):
        text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text()))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target or target.startswith("mailto:"):
                continue
            path, _, anchor = target.partition("#")
            named = page.parent / path if path else page
            if not named.exists():
                complaint = "no such file"
            elif anchor and named.suffix == ".md" and anchor not in anchors(named):
                complaint = "no such heading"
            else:
                continue
            print(f"{page.relative_to(root)}: {complaint}: {target}")
            wrong += 1
    return wrong != 0


def catalog(root):
    source = "".join((root / f"include/ashlar/catalog/{name}entries.hpp").read_text() for name in ["", "searched_", "vocabulary_"])
    entries = set(re.findall(r'entry\{\.name = "([^"]+)"', source))
    cells = re.findall(r"^\| (`[^|]*) \|", (root / "docs/catalog.md").read_text(), re.M)
    rows = {name for cell in cells for name in re.findall(r"`([^`]+)`", re.sub(r"\(.*?\)", "", cell))}
    for name in sorted(entries ^ rows):
        print(f"docs/catalog.md: {'lacks a row of' if name in entries else 'has a row of what there is not:'} {name}")
    counted = re.search(r"\| published schedules, each with its source \| (\d+) \|", (root / "README.md").read_text())
    is_counted = counted is not None and int(counted[1]) == len(entries)
    if not is_counted:
        print(f"README.md: does not count {len(entries)} published schedules")
    return not entries or entries != rows or not is_counted


def run_program(job):
    """Compile and run one program; the complaint, or nothing."""
    root, compiler, library, where, code, prints = job
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "example.cpp"), Path(folder, "example")
        source.write_text(code)
        search = [f"-I{root}/{path}" for path in ("include", "backends/host/include", "examples")]
        made = subprocess.run([compiler, *FLAGS, *search, str(source), library, "-o", str(program)], capture_output=True, text=True)
        if made.returncode:
            return f"{where}: does not compile\n{made.stderr}"
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
        if ran.returncode:
            return f"{where}: returned {ran.returncode}\n{ran.stdout}{ran.stderr}"
        if prints is not None and ran.stdout.rstrip() != prints.rstrip():
            return f"{where}: prints something else:\n{ran.stdout}\ninstead of\n{prints}"
    return None


def code(root, compiler, library, only=None):
    complaints, programs, quotes = [], [], 0
    for page in [root / only] if only else pages(root):
        last = None
        text = page.read_text()
        for match in BLOCK.finditer(text):
            mark, path, language, body = match.groups()
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
            if mark == "example":
                quotes += 1
                if not path or not (root / path).is_file():
                    complaints.append(f"{where}: no file {path}")
                elif body not in (root / path).read_text():
                    complaints.append(f"{where}: this does not stand in {path}")
            if mark == "prints":
                if last is None:
                    complaints.append(f"{where}: no program before it")
                else:
                    last[5] = body
            elif language == "cpp" and "int main" in body:
                last = [root, compiler, library, where, body, None]
                programs.append(last)
    with ThreadPoolExecutor(2) as pool:
        complaints += [complaint for complaint in pool.map(run_program, programs) if complaint]
    for complaint in complaints:
        print(complaint)
    print(f"{len(programs)} programs, {quotes} quotations, {len(complaints)} complaints")
    return bool(complaints)


def commands(root, tool, write):
    complaints = count = 0
    for page in pages(root):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as programs:
            tools = Path(programs, "bin")
            tools.mkdir()
            Path(tools, "ashlar").symlink_to(Path(tool).resolve())
            Path(programs, "ashlar").mkdir()
            Path(programs, "ashlar/include").symlink_to(root / "include")
            paths = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": programs}
            text = page.read_text()
            for mark, name, _, body in BLOCK.findall(text):
                if mark == "file":
                    Path(folder, name).write_text(body)
            for block in re.findall(r"^```console\n\$ (.*?)^```$", text, re.M | re.S):
                command = re.match(r"(?:[^\n]*\\\n)*[^\n]*\n", block)[0]
                ran = subprocess.run(["bash", "-c", command], cwd=folder, env=paths, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, timeout=300)
                said = command + re.sub(r" +$", "", ran.stdout, flags=re.M)
                count += 1
                if ran.returncode or said.rstrip() != block.rstrip():
                    print(f"{page.relative_to(root)}: returns {ran.returncode} and prints:\n{said}")
                    complaints += 1
                    text = text.replace(block, said)
            if write:
                page.write_text(text)
    print(f"{count} commands, {complaints} complaints")
    return count == 0 or complaints != 0


def script(root, page):
    print('set -e; work=$(mktemp -d); cd "$work"')
    for match in BLOCK.finditer((root / page).read_text()):
        mark, name, language, body = match.groups()
        if mark == "file":
            print(f"cat >{name} <<'END OF FILE'\n{body}END OF FILE")
        elif mark == "command":
            print(f"echo '==== {name}:' $(date +%T)\n{body.rstrip()}")
        elif language == "console":
            command = re.match(r"\$ ((?:[^\n]*\\\n)*[^\n]*\n)", body)[1]
            shown = body[len("$ " + command):]
            print(f"cat >shown <<'END OF FILE'\n{shown.rstrip()}\nEND OF FILE")
            print(f"{{ {command.rstrip()}; }} 2>&1 | sed 's/ *$//' >printed; diff -B shown printed; cat printed")
    print("echo '==== all done:' $(date +%T)")
    return False


def main():
    what, root = sys.argv[1], Path(sys.argv[2]).resolve()
    if what == "script":
        return script(root, sys.argv[3])
    if what == "commands":
        return commands(root, sys.argv[3], "--write" in sys.argv[4:])
    return links(root) if what == "links" else catalog(root) if what == "catalog" else code(root, *sys.argv[3:6])


if __name__ == "__main__":
    sys.exit(main())
