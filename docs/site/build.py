#!/usr/bin/env python3
"""The documentation as a site: the pages of docs/, a page per schedule, and the reference from the code's own comments.

usage: build.py [--tool ASHLAR] [--out FOLDER]

Needs MkDocs with Material and mkdocstrings (requirements.txt beside this file), and Doxygen. With the command-line tool, each
schedule of the catalog gets a page that is made from its entry. Exit code 77: something is missing that it needs.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import headers
import schedules

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cu": "cpp", ".py": "python", ".sh": "sh", ".json": "json", ".csv": "text", ".txt": "text"}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
INCLUDES = {"": ROOT / "include", **{f"backends/{b}": ROOT / f"backends/{b}/include" for b in ("host", "mpi", "cuda")}}


def rewritten(text, page, pages):
    """A page's links, as the site has them; what it shows of the tree is copied there."""

    def to_site(found):
        target = found[2]
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = (page.parent / target).resolve()
        home = "." if page == ROOT / "README.md" else os.path.relpath(ROOT / "docs", page.parent)
        inside = path.relative_to(ROOT)
        if inside == Path("README.md"):
            there = "index.md"
        elif inside.parts[0] == "docs":
            there = str(Path(*inside.parts[1:]))
        elif path.suffix in (".svg", ".png"):
            there = f"source/{inside}"
            (pages / there).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, pages / there)
        else:
            there = shown(path, pages)
        return f"{found[1]}{os.path.normpath(os.path.join(home, there))}{found[3] or ''}{found[4]}"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(to_site, part) for part in parts)


def shown(path, pages):
    """A page with a file of the tree, or with the list of a folder."""
    inside = path.relative_to(ROOT)
    target = pages / "source" / f"{inside}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        body = "\n".join(f"* `{each.relative_to(path)}`" for each in sorted(path.rglob("*")) if each.is_file())
    elif path.suffix == ".md":
        body = rewritten(path.read_text(), path, pages)
        target.write_text(body)
        return str(target.relative_to(pages))
    else:
        body = f"````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text()}\n````"
    target.write_text(f"# {inside}\n\n{body}\n")
    return str(target.relative_to(pages))


def lay_pages(pages):
    (pages / "index.md").write_text(rewritten((ROOT / "README.md").read_text(), ROOT / "README.md", pages))
    for page in sorted((ROOT / "docs").glob("*.md")):
        (pages / page.name).write_text(rewritten(page.read_text(), page, pages))
    shutil.copytree(ROOT / "docs/pictures", pages / "pictures", ignore=shutil.ignore_patterns("*.py"))
    shutil.copy(HERE / "site.css", pages / "site.css")


def room_summaries():
    """What docs/design.md says of each room, in its order."""
    design = (ROOT / "docs/design.md").read_text()
    return dict(re.findall(r"^([a-z]+)/ +(.+)$", design, re.M))


def lay_reference(pages, work):
    copy, compounds = headers.read(INCLUDES, work)
    found, heads = headers.entities(compounds, copy)
    rooms = {}
    for path in sorted(found):
        parts = Path(path).parts
        room = f"backends/{parts[1]}" if parts[0] == "backends" else parts[1] if len(parts) > 2 else "ashlar"
        rooms.setdefault(room, []).append(path)
    said = room_summaries()
    order = [room for room in said if room in rooms] + sorted(room for room in rooms if room not in said)
    listed = []
    for room in order:
        target = pages / "reference" / f"{room.replace('/', '_')}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(headers.page(room, said.get(room, ""), rooms[room], found, heads))
        listed.append((room, f"reference/{target.name}"))
    return listed


def lay_python(pages):
    package = ROOT / "python/ashlar_pp"
    listed = []
    for module in sorted(package.rglob("*.py")):
        inside = module.relative_to(package.parent).with_suffix("")
        name = ".".join(part for part in inside.parts if part != "__init__")
        target = pages / "python" / f"{name}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"# {name}\n\n::: {name}\n")
        listed.append((name, f"python/{target.name}"))
    return listed


def configured(listed):
    """mkdocs.yml with the generated parts of its `nav` filled in."""
    text = (HERE / "mkdocs.yml").read_text()
    for place, entries in listed.items():
        text, times = re.subn(
            rf"^( +)- ((?:[^:\n]+: )?){place}\n",
            lambda found: "".join(
                ([f"{found[1]}- {found[2].strip()}\n"] if found[2] else [])
                + [f"{found[1]}{'    ' if found[2] else ''}- \"{name}\": {page}\n" for name, page in entries]
            ),
            text,
            flags=re.M,
        )
        assert times == 1, place
    return text


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tool", type=Path, help="the command-line tool, for the pages of schedules")
    options.add_argument("--out", type=Path, default=ROOT / "build/site", help="where the site goes")
    given = options.parse_args()
    missing = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
    missing += [] if shutil.which("doxygen") else ["doxygen"]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        pages, work = Path(folder, "pages"), Path(folder, "work")
        pages.mkdir()
        work.mkdir()
        lay_pages(pages)
        listed = {
            "schedules": schedules.lay(given.tool, pages) if given.tool else [],
            "reference": lay_reference(pages, work),
            "python": lay_python(pages),
        }
        settings = Path(folder, "mkdocs.yml")
        settings.write_text(configured(listed))
        if lost := [page.name for page in (ROOT / "docs").glob("*.md") if f" {page.name}\n" not in settings.read_text()]:
            print(f"docs/site/mkdocs.yml: the navigation has no place for {', '.join(sorted(lost))}")
            return 1
        places = {
            "ASHLAR_SITE_PAGES": str(pages),
            "ASHLAR_SITE_OUT": str(given.out.resolve()),
            "ASHLAR_SITE_PYTHON": str(ROOT / "python"),
            "NO_MKDOCS_2_WARNING": "1",
        }
        made = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "-f", str(settings)], env={**os.environ, **places})
    if made.returncode == 0:
        print(f"{sum(1 for _ in given.out.rglob('*.html'))} pages in {given.out}")
    return made.returncode


if __name__ == "__main__":
    sys.exit(main())
