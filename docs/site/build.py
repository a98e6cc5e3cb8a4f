#!/usr/bin/env python3
"""The documentation as a site: the pages of docs/, a page per schedule, and the reference from the code's own comments.

usage: build.py [--tool ASHLAR] [--out FOLDER] [--repository ADDRESS] [--address ADDRESS]

Needs MkDocs with Material and mkdocstrings (requirements.txt beside this file), and Doxygen. With the command-line tool, each
schedule of the catalog gets a page that is made from its entry. With what explore/build.py needs, the page that explores schedules
is part of it. The site of each version goes into a folder of its own; those of other versions stay. Links to the repository and the
addresses in the sitemap come from cmake/publication.cmake. A broken link ends the build. Exit code 77: something is missing that it
needs.
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import headers
import links
import schedules

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cu": "cpp", ".py": "python", ".sh": "sh", ".json": "json", ".csv": "text", ".txt": "text"}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
BESIDE = ("tools/cost", "tools/plan", "backends/host", "backends/mpi", "backends/cuda")
INCLUDES = {"": ROOT / "include", **{name: ROOT / name / "include" for name in BESIDE}}


def site_place(path, pages):
    """Where the site has a file of the tree, which is copied there if it is no page of its own."""
    inside = path.relative_to(ROOT)
    if inside == Path("README.md"):
        return "index.md"
    if inside.parts[0] == "docs":
        return str(Path(*inside.parts[1:]))
    if path.suffix not in (".svg", ".png"):
        return shown(path, pages)
    (pages / "source" / inside).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, pages / "source" / inside)
    return f"source/{inside}"


def rewritten(path, place, pages):
    """The text of a page at `place` of the site, with links as the site has them; what they show of the tree is copied there."""

    def to_site(found):
        if "://" in found[2] or found[2].startswith("mailto:"):
            return found[0]
        there = site_place((path.parent / found[2]).resolve(), pages)
        return f"{found[1]}{os.path.relpath(there, Path(place).parent)}{found[3] or ''}{found[4]}"

    parts = re.split(r"(^```.*?^```$)", path.read_text(), flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(to_site, part) for part in parts)


def aside(text):
    """A page that the search of the site finds behind the guides."""
    return f"---\nsearch:\n  boost: 0.2\n---\n\n{text}"


def shown(path, pages):
    """A page with a file of the tree, or with the list of a folder."""
    inside = path.relative_to(ROOT)
    place = f"source/{inside}.md"
    target = pages / place
    if target.exists():
        return place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()  # a page may link to itself
    if path.suffix == ".md":
        text = rewritten(path, place, pages)
    elif path.is_dir():
        text = f"# {inside}\n\n" + "\n".join(f"* `{each.relative_to(path)}`" for each in sorted(path.rglob("*")) if each.is_file())
    else:
        text = f"# {inside}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text()}\n````"
    target.write_text(aside(text + "\n"))
    return place


def lay_pages(pages):
    (pages / "index.md").write_text(rewritten(ROOT / "README.md", "index.md", pages))
    for page in sorted((ROOT / "docs").glob("*.md")):
        (pages / page.name).write_text(rewritten(page, page.name, pages))
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
    texts = [path.read_text() for path in sorted((ROOT / "examples").glob("[0-9]*.cpp"))]
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        texts.append("\n".join(re.findall(r"^```cpp$(.*?)^```$", path.read_text(), re.M | re.S)))
    listed = []
    for room in order:
        target = pages / "reference" / f"{room.replace('/', '_')}.md"
        target.parent.mkdir(exist_ok=True)
        ordered = headers.by_use(rooms[room], found, texts)
        target.write_text(aside(headers.page(room, said.get(room, ""), ordered, found, heads)))
        listed.append((room, f"reference/{target.name}"))
    return listed


def lay_python(pages):
    package = ROOT / "python/ashlar_pp"
    listed = []
    for module in sorted(package.rglob("*.py")):
        if not (module.parent / "__init__.py").exists():
            continue  # a program's own files
        inside = module.relative_to(package.parent).with_suffix("")
        name = ".".join(part for part in inside.parts if part != "__init__")
        target = pages / "python" / f"{name}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(aside(f"# {name}\n\n::: {name}\n"))
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


def setting(name, file):
    """The text in quotes behind a name, in a file of the tree."""
    return re.search(rf'{name}[^"\n]*"([^"]*)"', (ROOT / file).read_text())[1]


def lay_explore(pages):
    """The page that explores schedules, where this machine can compile it."""
    target = pages / "explore.html"
    made = subprocess.run([sys.executable, str(HERE / "explore/build.py"), "--out", str(target)], capture_output=True, text=True)
    print(made.stdout or made.stderr, end="")
    return [("Explore", target.name)] if made.returncode == 0 else []


def list_versions(out):
    """What the choice of versions reads, and a first page that leads to the newest."""
    found = sorted((path.parent.name for path in out.glob("*/index.html")), key=lambda v: [int(n) for n in re.findall(r"\d+", v)], reverse=True)
    (out / "versions.json").write_text(json.dumps([{"version": each, "title": each, "aliases": []} for each in found]))
    (out / "index.html").write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={found[0]}/index.html"><a href="{found[0]}/index.html">Ashlar {found[0]}</a>\n')


def built(folder, given, version):
    """Lays the pages and runs MkDocs; the lines of what is wrong."""
    pages, work = Path(folder, "pages"), Path(folder, "work")
    pages.mkdir()
    work.mkdir()
    lay_pages(pages)
    listed = {
        "explore": lay_explore(pages),
        "schedules": schedules.lay(given.tool, pages) if given.tool else [],
        "reference": lay_reference(pages, work),
        "python": lay_python(pages),
    }
    settings = Path(folder, "mkdocs.yml")
    settings.write_text(configured(listed))
    if lost := [page.name for page in (ROOT / "docs").glob("*.md") if f" {page.name}\n" not in settings.read_text()]:
        return [f"docs/site/mkdocs.yml: the navigation has no place for {', '.join(sorted(lost))}"]
    site = given.out.resolve() / version
    places = {
        "ASHLAR_SITE_PAGES": str(pages),
        "ASHLAR_SITE_OUT": str(site),
        "ASHLAR_SITE_PYTHON": str(ROOT / "python"),
        "ASHLAR_SITE_HOOK": str(HERE / "edit_links.py"),
        "ASHLAR_SITE_REPOSITORY": given.repository,
        "ASHLAR_SITE_ADDRESS": given.address and f"{given.address.rstrip('/')}/{version}/",
        "NO_MKDOCS_2_WARNING": "1",
    }
    made = subprocess.run([sys.executable, "-m", "mkdocs", "build", "-f", str(settings)], env={**os.environ, **places}, capture_output=True, text=True)
    if made.returncode:
        return [line for line in made.stderr.splitlines() if not line.startswith("INFO")]
    if not given.address:
        for name in ("sitemap.xml", "sitemap.xml.gz", "404.html"):  # these have whole addresses
            (site / name).unlink()
    list_versions(given.out)
    return links.broken(given.out, urlsplit(given.address).path or "/")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tool", type=Path, help="the command-line tool, for the pages of schedules")
    options.add_argument("--out", type=Path, default=ROOT / "build/site", help="where the site goes")
    options.add_argument("--repository", default=setting("ASHLAR_REPOSITORY", "cmake/publication.cmake"), help="the repository's address")
    options.add_argument("--address", default=setting("ASHLAR_SITE", "cmake/publication.cmake"), help="the site's own address")
    given = options.parse_args()
    missing = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
    missing += [] if shutil.which("doxygen") else ["doxygen"]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        wrong = built(folder, given, setting("version", "include/ashlar/core/version.hpp"))
    for line in wrong:
        print(line)
    if not wrong:
        print(f"{sum(1 for _ in given.out.rglob('*.html'))} pages in {given.out}, and no broken link")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
