"""A hook of MkDocs: each page's link to its source is the file of the tree that it is made from."""

import re

PLACES = (
    (r"index\.md", "README.md"),
    (r"source/(.+)\.md", r"\1"),
    (r"python/(.+)\.md", lambda found: "python/" + found[1].replace(".", "/") + ".py"),
    (r"(reference|schedules)/.+", None),  # made from many files
    (r"([^/]+\.md)", r"docs/\1"),
)


def source(place):
    """The file of the tree that a page of the site shows, or None."""
    for pattern, path in PLACES:
        if found := re.fullmatch(pattern, place):
            return path if path is None else path(found) if callable(path) else found.expand(path)
    return None


def on_config(config):
    if not config.repo_url:
        config.edit_uri = None
    return config


def on_pre_page(page, config, files):
    path = source(page.file.src_uri)
    repository = config.repo_url
    page.edit_url = f"{repository.rstrip('/')}/edit/main/{path}" if repository and path else None
    return page
