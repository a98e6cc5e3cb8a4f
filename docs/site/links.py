"""Links of the finished site that lead nowhere.

MkDocs checks the links of Markdown that it understands. A browser follows those of the HTML, so these are what is read here.
"""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ATTRIBUTES = ("href", "src", "action", "data", "poster")


class marks(HTMLParser):
    """The anchors that a page has, and the places that it refers to."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if not value:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ATTRIBUTES and not (tag == "link" and ("rel", "preconnect") in attributes):
                self.links.append(value)


def read(page):
    found = marks()
    found.feed(page.read_text())
    return found


def target(page, link, site, root):
    """The file and the anchor that a link of a page means; the file is None where the link leaves the site, which is at `root` of
    its host."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None, ""
    path = unquote(parts.path)
    if not path:
        file = page
    else:
        file = (site / path.removeprefix(root).lstrip("/") if path.startswith("/") else page.parent / path).resolve()
        file = file / "index.html" if file.is_dir() else file
    return file, unquote(parts.fragment)


def broken(site, root="/"):
    """A line for each link without a target, in the order of pages."""
    site = site.resolve()
    pages = {page: read(page) for page in sorted(site.rglob("*.html"))}
    lines = []
    for page, found in pages.items():
        for link in dict.fromkeys(found.links):
            file, anchor = target(page, link, site, root)
            if file is None:
                continue
            if not file.is_file():
                lines.append(f"{page.relative_to(site)}: {link}: there is no such file")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                lines.append(f"{page.relative_to(site)}: {link}: the page has no such heading")
    return lines
