#!/usr/bin/env python3
"""The check of the site's links finds what a browser would not, and nothing else.

usage: site_links.py ROOT
"""

import sys
import tempfile
from pathlib import Path

FILES = {
    "index.html": '<a href="guide/page.html#there">right</a> <a href="#top" id="top"></a> <a href="https://example.org/x#y">out</a>'
    '<a href="guide/">a folder</a> <a href="guide/a%20b.html">escaped</a> <img src="picture.svg"> <a href="mailto:a@b">mail</a>',
    "guide/index.html": '<a href="../index.html"></a> <a href="/index.html#top"></a>',
    "guide/page.html": '<h2 id="there"></h2> <a href="page.html#lost"></a> <a href="lost.html"></a> <img src="lost.svg"> <a href="#gone"></a>',
    "guide/a b.html": "",
    "picture.svg": "",
}
EXPECTED = [
    "guide/page.html: page.html#lost: the page has no such heading",
    "guide/page.html: lost.html: there is no such file",
    "guide/page.html: lost.svg: there is no such file",
    "guide/page.html: #gone: the page has no such heading",
]


def main():
    sys.path.insert(0, str(Path(sys.argv[1], "docs/site")))
    import links

    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        found = links.broken(Path(folder))
    if found != EXPECTED:
        print("\n".join(["found:", *found, "expected:", *EXPECTED]))
        return 1
    print(f"{len(EXPECTED)} broken links found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
