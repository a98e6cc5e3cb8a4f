#!/usr/bin/env python3
"""Everything that a user may call has a comment, from which the reference is made.

usage: comments.py ROOT [FOLDER ...]

In the headers of FOLDERS, or of those named, every declaration in namespace ashlar and every public member function of a
class has a `//` comment: directly above it, or behind it on its line. A comment also holds for the declarations that follow
the first one without a blank line between, and for later functions of the same name in the header. Some declarations need none: those
in a namespace called detail, defaulted or deleted ones, destructors and comparisons, and those that are no more than a field:
member functions without parameters that fit on a line.
"""
import re
import sys
from pathlib import Path

ROOMS = ["model", "block", "schedule", "catalog", "bounds", "program", "lower", "prove", "check", "simulate", "search", "study",
         "run", "record", "render", "interop"]
FOLDERS = [*(f"include/ashlar/{room}" for room in ROOMS), "tools/cost/include", "tools/plan/include"]
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\w+(?:\'\d+)*|\n|[^\S\n]+|.', re.M | re.S)
NO_COMMENT = re.compile(r"= (default|delete)$|\boperator ?(==|<=>)|~\w+ ?\(|^(using namespace|static_assert|friend (class|struct)|(class|struct) \w+$)\b")


class token:
    def __init__(self, text, line):
        self.text, self.line = text, line
        self.is_comment = text.startswith(("//", "/*"))


def tokens_of(text):
    """The tokens of a header without blanks and preprocessor lines."""
    line = 1
    for match in TOKEN.finditer(text):
        part = match[0]
        if part.strip() and not part.lstrip().startswith("#"):
            yield token(part, line)
        line += part.count("\n")


def skipped(tokens, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at].text in "({[") - (tokens[at].text in ")}]")
        at += 1
        if depth == 0:
            break
    return at


def spelled(tokens):
    text = " ".join(t.text for t in tokens)
    return re.sub(r" ?(: :|[(){}<>,;.~]) ?", lambda m: m[1].replace(" ", "") + (" " if m[1] in ",>)" else ""), text).strip()


class reader:
    """Finds the declarations of a header that need a comment and have none."""

    def __init__(self, text):
        self.tokens = list(tokens_of(text))
        self.comments = {}  # line of the end -> whether code stands before it
        code = {t.line for t in self.tokens if not t.is_comment}
        for t in self.tokens:
            if t.is_comment:
                self.comments[t.line + t.text.count("\n")] = t.line in code
        self.tokens = [t for t in self.tokens if not t.is_comment]
        self.missing = []
        self.named = set()  # functions that have a comment

    def scope(self, at, kind, is_public):
        """Reads declarations until the brace that closes the scope; kind: namespace or class."""
        covered = -1  # the last line of the run that a comment holds for
        while at < len(self.tokens) and self.tokens[at].text != "}":
            first = self.tokens[at]
            if first.text == ";":
                at += 1
                continue
            if first.text in ("public", "private", "protected") and self.tokens[at + 1].text == ":":
                is_public = first.text == "public"
                at += 2
                continue
            begin, at, inner = self.declaration(at)
            words = self.tokens[begin:at]
            above = first.line - 1 in self.comments and not self.comments[first.line - 1]
            behind = self.comments.get(first.line, False) or self.comments.get(words[-1].line, False)
            has = above or behind or covered == first.line - 1 or covered == first.line
            if inner == "namespace":
                name = spelled(words[1:-1])
                at = self.scope(at, "namespace", is_public and "detail" not in name)
            elif inner:
                self.check(words, has, kind, is_public, is_type=True)
                at = self.scope(at, "class", is_public and inner != "class")
            else:
                self.check(words, has, kind, is_public, is_type=False)
            end = self.tokens[at - 1].line
            if inner == "" and at < len(self.tokens) and self.tokens[at - 1].text == ";":
                end = self.tokens[at - 1].line
            covered = end if has else -1
        return at + 1

    def declaration(self, at):
        """(first token, behind it, kind of the scope that it opens or "")."""
        begin, kind, angles = at, "", 0
        if self.tokens[at].text == "template":
            at += 1
            depth = 0
            while True:
                depth += (self.tokens[at].text == "<") - (self.tokens[at].text == ">")
                if self.tokens[at].text == "(":
                    at = skipped(self.tokens, at) - 1
                at += 1
                if depth == 0:
                    break
        start = at
        while at < len(self.tokens):
            text = self.tokens[at].text
            if text == ";":
                return begin, at + 1, ""
            if text in ("(", "["):
                at = skipped(self.tokens, at)
                continue
            if text in ("namespace", "class", "struct", "union") and not kind and all(
                    t.text in ("inline", "typedef") for t in self.tokens[start:at]):
                kind = text
            if text == "{":
                is_scope = kind != "" and not any(t.text in ("(", "=") for t in self.tokens[start:at])
                if is_scope:
                    return begin, at + 1, kind
                at = skipped(self.tokens, at)
                follows = self.tokens[at].text if at < len(self.tokens) else ";"
                if follows in (";", ",", "{", "="):
                    continue
                return begin, at, ""
            at += 1
        return begin, at, ""

    def check(self, words, has, kind, is_public, is_type):
        text = spelled(words[:1 + next((i for i, t in enumerate(words) if t.text in "{;"), len(words) - 1)]).rstrip("{; ")
        name = None if is_type else re.search(r"(\w+)\(|$", re.sub(r"^template<.*?> (?=\w)|requires\(|explicit\(", "", text))[1]
        if has:
            self.named.add(name)
        if has or not is_public or NO_COMMENT.search(text) or (name and name in self.named):
            return
        if kind == "class" and not is_type and ("(" not in text or "()" in text and words[0].line == words[-1].line):
            return
        self.missing.append((words[0].line, text))


def main():
    root = Path(sys.argv[1])
    folders = sys.argv[2:] or FOLDERS
    found = 0
    for folder in folders:
        for path in sorted((root / folder).rglob("*.hpp")):
            one = reader(path.read_text())
            one.scope(0, "namespace", True)
            for line, text in one.missing:
                print(f"{path.relative_to(root)}:{line}: no comment: {text[:120]}")
                found += 1
    print(f"{found} declarations have no comment")
    return found != 0


if __name__ == "__main__":
    sys.exit(main())
