#!/usr/bin/env python3
"""Writes calls of every public function of the headers with hostile values, so that none is forgotten.

usage: generate.py ROOT OUT... TABLE

A public function is one in namespace ashlar outside of detail, in include/ashlar, tools/cost/include or tools/plan/include. Each gets a
call whose arguments `values.hpp` makes: fields of structs keep their first values, or are anything. Where a function of the same name in
`takes*.hpp` says which values it takes, it gets only these. Templates are called where a function of
the same name in `by_hand.hpp` does. `check.py` makes the calls, and looks for functions that nobody calls.
"""
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "test/structure"))

from comments import skipped, spelled, tokens_of  # noqa: E402

ROOMS = [("include", "include/ashlar"), ("tools/cost/include", "tools/cost/include"), ("tools/plan/include", "tools/plan/include")]


@dataclass
class Found:
    """The declarations of a header."""
    functions: list = field(default_factory=list)  # (namespaces, name, parameter types or None, line)
    structs: list = field(default_factory=list)  # (namespaces, name, fields)
    enums: list = field(default_factory=list)  # (namespaces, name, count of enumerators)


class Header:
    def __init__(self, text):
        self.tokens = [t for t in tokens_of(text) if not t.is_comment]
        self.found = Found()
        self.scope(0, ())

    def text(self, begin, end):
        return spelled(self.tokens[begin:end])

    def ends(self, at, closing):
        while at < len(self.tokens) and self.tokens[at].text not in closing:
            at = skipped(self.tokens, at) if self.tokens[at].text in "({[" else at + 1
        return at

    def scope(self, at, spaces):
        """Reads declarations of namespaces until the brace that closes the scope; returns what is behind it."""
        while at < len(self.tokens) and self.tokens[at].text != "}":
            begin, is_template = at, self.tokens[at].text == "template"
            if is_template:
                depth, at = 0, at + 1
                while True:
                    depth += (self.tokens[at].text == "<") - (self.tokens[at].text == ">")
                    at = skipped(self.tokens, at) if self.tokens[at].text in "({[" else at + 1
                    if depth == 0:
                        break
            words = []
            while at < len(self.tokens) and self.tokens[at].text not in (";", "{", "(", "="):
                words.append(self.tokens[at].text)
                at = skipped(self.tokens, at) if self.tokens[at].text == "[" else at + 1
            if at == len(self.tokens):
                break
            opened = self.tokens[at].text
            if opened == "{" and "namespace" in words:
                at = self.scope(at + 1, (*spaces, "".join(words[words.index("namespace") + 1:])))
            elif opened == "{" and "enum" in words:
                end = skipped(self.tokens, at)
                inside = [t.text for t in self.tokens[at + 1:end - 1]]
                name = words[2] if words[1] in ("class", "struct") else words[1]
                self.found.enums.append((spaces, name, 1 + inside.count(",") - (inside[-1] == ",")))
                at = end
            elif opened == "{" and ({"struct", "class", "union"} & set(words)):
                if "struct" in words and not is_template and "<" not in words:
                    name = words[words.index("struct") + 1]
                    self.found.structs.append((spaces, name, self.fields(at + 1)))
                at = skipped(self.tokens, at)
            elif opened == "(" and "operator" not in words and "static_assert" not in words and "using" not in words:
                end = skipped(self.tokens, at)
                name = words[-1]
                types = None if is_template else self.parameters(at + 1, end - 1)
                if types and any(re.search(r"\bauto\b", one) for one in types):
                    types = None
                line = self.tokens[begin].line
                behind = self.ends(end, (";", "{"))
                is_deleted = "delete" in [t.text for t in self.tokens[end:behind]]
                if not is_deleted and re.fullmatch(r"[a-z]\w*", name) and name not in ("requires", "decltype"):
                    self.found.functions.append((spaces, name, types, line))
                at = behind
                if at < len(self.tokens) and self.tokens[at].text == "{":
                    at = skipped(self.tokens, at)
            else:
                at = self.ends(at, (";",)) + 1
                continue
            if at < len(self.tokens) and self.tokens[at].text == ";":
                at += 1
        return at + 1

    def parameters(self, begin, end):
        """The types of parameters without names and defaults."""
        found, start, angles, at = [], begin, 0, begin
        while at <= end:
            text = self.tokens[at].text if at < end else ","
            angles += (text == "<") - (text == ">")
            if text == "," and angles == 0:
                part = self.tokens[start:at]
                values = [t.text for t in part]
                part = part[:values.index("=")] if "=" in values else part
                if len(part) > 1 and re.fullmatch(r"[a-z_]\w*", part[-1].text) and part[-2].text != ":" and part[-1].text not in ("const", "int"):
                    part = part[:-1]
                if part:
                    found.append(spelled(part))
                start = at + 1
            at = skipped(self.tokens, at) if text in "({[" and at < end else at + 1
        return found

    def fields(self, at):
        """The names of a struct's fields; none if it has constructors or private parts."""
        found = []
        while self.tokens[at].text != "}":
            begin = at
            words = []
            while self.tokens[at].text not in (";", "{", "(", "=", "}"):
                words.append(self.tokens[at].text)
                at = skipped(self.tokens, at) if self.tokens[at].text == "[" else at + 1
            if words and words[0] in ("private", "protected"):
                return []
            if self.tokens[at].text == "(":
                at = self.ends(skipped(self.tokens, at), (";", "{"))
                at = skipped(self.tokens, at) if self.tokens[at].text == "{" else at
            elif self.tokens[at].text == "{" and {"struct", "enum", "union", "class"} & set(words):
                at = skipped(self.tokens, at)
            else:
                is_field = words and not {"using", "static", "friend", "enum", "struct", "operator", "template"} & set(words)
                if is_field and self.tokens[begin].text != "template":
                    found.append([w for w in words if re.fullmatch(r"[A-Za-z_]\w*", w)][-1])
                while self.tokens[at].text not in (";",):
                    if self.tokens[at].text == "," and is_field:
                        found.append(self.tokens[at + 1].text)
                    at = skipped(self.tokens, at) if self.tokens[at].text in "({[" else at + 1
            if self.tokens[at].text == ";":
                at += 1
        return found


def is_public(spaces):
    return spaces and spaces[0].startswith("ashlar") and not any("detail" in s or s == "" for s in spaces)


def headers():
    for include, folder in ROOMS:
        for path in sorted((ROOT / folder).rglob("*.hpp")):
            if path.parent != ROOT / "include/ashlar" and path.parent != ROOT / "tools/plan/include/ashlar" and path.parent != ROOT / "tools/cost/include/ashlar":
                yield path.relative_to(ROOT / include).as_posix(), Header(path.read_text()).found



def calls():
    """(header, namespaces, function, types, place) of each public function."""
    for header, found in headers():
        for spaces, name, types, line in found.functions:
            if is_public(spaces):
                yield header, "::".join(spaces), name, types, f"{header}: {'::'.join(spaces)}::{name}"


def beside(name):
    """The functions of files beside this one, by the name of the public one, `namespace::name` without `ashlar::`: their parameters."""
    space, own = f"every::{name}", {}
    for path in sorted((ROOT / "test/every").glob(f"{name}*.hpp")):
        for spaces, function, types, _ in Header(path.read_text()).found.functions:
            if spaces and spaces[0] == space:
                own["::".join((*spaces, function)).removeprefix(f"{space}::")] = types
    return own


def prelude():
    """What every part of the program begins with: all headers, and the fields of their structs."""
    lines = ["// Written by test/every/generate.py.", '#include "every/by_hand.hpp"', '#include "every/takes_programs.hpp"', '#include "every/values.hpp"']
    includes = sorted({header for header, found in headers() if found.functions or found.structs})
    lines += [f"#include <{header}>" for header in includes if not LEFT_OUT.search(header)]
    for header, found in headers():
        if LEFT_OUT.search(header):
            continue
        for spaces, name, fields in found.structs:
            if is_public(spaces) and fields:
                visits = " ".join(f"if constexpr (requires {{ v.{one}; }}) visit(v.{one});" for one in fields)
                lines.append(f"template <> struct every::fields_of<::{'::'.join(spaces)}::{name}> {{ static constexpr bool known = true; "
                             f"template <class T, class Visit> static void each(T& v, Visit visit) {{ {visits} }} }};")
        for spaces, name, count in found.enums:
            if is_public(spaces):
                lines.append(f"template <> inline constexpr int every::enumerators_of<::{'::'.join(spaces)}::{name}> = {count};")
    return lines


def written(parts):
    """The sources of the program: calls in so many parts, and the table of all."""
    takes, by_hand, all_calls = beside("takes"), beside("by_hand"), list(calls())
    known = {f"{space}::{name}".removeprefix("ashlar::") for _, space, name, _, _ in all_calls}
    assert takes.keys() | by_hand.keys() <= known, f"there are no such functions: {sorted((takes.keys() | by_hand.keys()) - known)}"
    common = prelude()
    sources = [list(common) for _ in range(parts)]
    declared, table = ['#include "every/values.hpp"'], []
    for number, (header, space, name, types, place) in enumerate(all_calls):
        own = f"{space}::{name}".removeprefix("ashlar::")
        called = f"::{space}::{name}"
        if own in by_hand:
            called, types = f"::every::by_hand::{own}", by_hand[own]
            space = called[2:].rpartition("::")[0]
        if types is None or LEFT_OUT.search(header):
            table.append(f'{{"{place}", nullptr, nullptr}},')
            continue
        arguments, given = ", ".join(types), "auto&&... a" if types else ""
        handed = "static_cast<decltype(a)>(a)..." if types else ""
        is_taken = f"if constexpr (requires {{ ::every::takes::{own}(a...); }}) return ::every::takes::{own}(a...); else return true;" if own in takes and own not in by_hand else "return true;"
        at = number * parts // len(all_calls)
        sources[at].append(
            f"namespace {space} {{ bool every_call_{number}(::every::dice& d) {{ return ::every::call<{arguments}>(d, "
            f"[]({given}) {{ static_cast<void>({called}({handed})); }}, [](auto&... a) {{ {is_taken} }}); }} "
            f"extern bool const every_known_{number} = ::every::can_call<{arguments}>; }}")
        declared.append(f"namespace {space} {{ bool every_call_{number}(::every::dice& d); extern bool const every_known_{number}; }}")
        table.append(f'{{"{place}", ::{space}::every_call_{number}, &::{space}::every_known_{number}}},')
    last = [*declared, "every::entry const every::all[] = {", *table, "};", f"int const every::count = {len(table)};"]
    return ["\n".join(lines) + "\n" for lines in (*sources, last)]


LEFT_OUT = re.compile("interop/views|/mpi")

if __name__ == "__main__":
    outputs = [Path(name) for name in sys.argv[2:]]
    for path, text in zip(outputs, written(len(outputs) - 1)):
        path.write_text(text)
