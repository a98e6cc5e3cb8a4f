"""The public headers as pages: what Doxygen reads of them, written as Markdown, a page per room.

Comments of the headers are plain `//`. Doxygen wants marks of its own, so it reads a copy that has them.
"""

import html
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

BLOCK_COMMENT = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
TRAILING_COMMENT = re.compile(r"^(\s*[^\s/#][^\"]*?[;,{}=\w])(\s*)//(?!/) ?(.*)$")
DOXYFILE = """
INPUT = .
RECURSIVE = YES
FILE_PATTERNS = *.hpp
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
XML_OUTPUT = {out}
EXTRACT_ALL = YES
MARKDOWN_SUPPORT = YES
AUTOLINK_SUPPORT = NO
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = NO
WARNINGS = NO
WARN_IF_DOC_ERROR = NO
WARN_IF_INCOMPLETE_DOC = NO
QUIET = YES
HAVE_DOT = NO
"""


def escaped(text):
    """A comment's words, so that Doxygen takes nothing in them for a command or a tag."""
    return re.sub(r"([@\\<>&#])", r"\\\1", text)


def marked(source):
    """The header with Doxygen's marks: `///` above a declaration, `///<` behind it, `@file` at the top."""
    lines = []
    at_top = True
    for line in source.splitlines():
        if found := BLOCK_COMMENT.match(line):
            if at_top and not lines:
                lines.append("/// @file")
            lines.append(f"{found[1]}///{found[2]}{escaped(found[3])}")
            continue
        at_top = False
        if found := TRAILING_COMMENT.match(line):
            line = f"{found[1]}  ///< {escaped(found[3])}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def read(folders, work):
    """Doxygen's XML of all headers below the folders of `folders` (prefix -> folder), parsed."""
    copy, out = work / "headers", work / "xml"
    for prefix, folder in folders.items():
        for header in sorted(folder.rglob("*.hpp")):
            target = copy / prefix / header.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(marked(header.read_text()))
    (work / "Doxyfile").write_text(DOXYFILE.format(out=out))
    subprocess.run(["doxygen", str(work / "Doxyfile")], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    roots = (ET.parse(path).getroot() for path in sorted(out.glob("*.xml")))
    return copy, [compound for root in roots for compound in root.findall("compounddef")]


def words(node):
    """The text of a description, paragraphs apart, code in backticks."""
    if node is None:
        return ""

    def of(each):
        inner = (each.text or "") + "".join(of(child) + (child.tail or "") for child in each)
        if each.tag == "computeroutput":
            return f"`{inner}`"
        if each.tag == "para":
            return inner.strip() + "\n\n"
        if each.tag == "listitem":
            return f"* {inner.strip()}\n"
        return inner

    return of(node).strip()


def documentation(node):
    return "\n\n".join(filter(None, (words(node.find("briefdescription")), words(node.find("detaileddescription")))))


def plain(text):
    """Doxygen's spelling of a type, as the source has it."""
    text = re.sub(r"\bashlar::", "", text)
    text = re.sub(r"\s*([<>])\s*", lambda m: m[1] if m[1] == "<" else "> ", text)
    text = re.sub(r"\s+([,)>&*(])", r"\1", re.sub(r" +", " ", text)).strip()
    return re.sub(r"([&*])(?=\w)", r"\1 ", text)


def template(node):
    parameters = node.find("templateparamlist")
    if parameters is None:
        return ""
    named = []
    for each in parameters:
        kind = "".join(each.find("type").itertext())
        name = each.findtext("declname") or ""
        named.append(f"{kind} {name}".strip())
    return f"template <{', '.join(named)}>\n"


def signature(member):
    kind = member.get("kind")
    name = member.findtext("name")
    if kind == "typedef":
        return f"{template(member)}using {name} = {plain(''.join(member.find('type').itertext()))};"
    if kind == "variable":
        initializer = member.find("initializer")
        value = "" if initializer is None else "".join(initializer.itertext())
        spelled = plain("".join(member.find("type").itertext()))
        return f"{template(member)}{spelled} {name}{' ' + plain(value) if value and len(value) < 60 else ''};"
    if kind == "enum":
        values = [" ".join(filter(None, (v.findtext("name"), v.findtext("initializer")))) for v in member.findall("enumvalue")]
        text = f"enum class {name} {{ {', '.join(values)} }};"
        return text if len(text) < 100 else f"enum class {name} {{\n  " + ",\n  ".join(values) + "\n};"
    returned = plain("".join(member.find("type").itertext()))
    arguments = plain(member.findtext("argsstring") or "()")
    text = f"{returned} {name}{arguments};".strip()
    if len(text) > 100:
        inside = re.fullmatch(r"(.*?\()(.*)(\).*)", text, re.S)
        text = inside[1] + "\n    " + re.sub(r", (?![^<(]*[>)])", ",\n    ", inside[2]) + inside[3]
    return template(member) + text


class entity:
    """What a page shows of one public name."""

    def __init__(self, name, line, code, text, members=()):
        self.name, self.line, self.code, self.text, self.members = name, line, code, text, members


def class_entity(compound):
    name = plain(compound.findtext("compoundname"))
    fields, functions = [], []
    for member in compound.iter("memberdef"):
        if member.get("prot") != "public":
            continue
        if member.get("kind") in ("variable", "typedef", "enum"):
            fields.append(member)
        elif member.get("kind") == "function" and not member.findtext("name").startswith(("~", "operator")):
            functions.append(member)
    body = [f"{template(compound)}{compound.get('kind')} {name} {{"]
    for member in fields:
        comment = " ".join(documentation(member).split())
        body.append(f"  {signature(member)}{'  // ' + comment if comment else ''}")
    members = []
    for member in functions:
        if documentation(member):
            members.append((signature(member), documentation(member)))
        else:
            body.append(f"  {signature(member)}")
    return entity(name, int(compound.find("location").get("line")), "\n".join([*body, "};"]), documentation(compound), members)


def entities(compounds, copy):
    """Public names by header: {path: [entity]}; and what each header says of itself."""
    found, heads = {}, {}

    def add(location, each):
        path = location.get("file")
        path = str(Path(path).relative_to(copy)) if path.startswith("/") else path
        found.setdefault(path, []).append(each)

    for compound in compounds:
        kind = compound.get("kind")
        name = compound.findtext("compoundname")
        if kind == "file":
            path = compound.find("location").get("file")
            heads[str(Path(path).relative_to(copy)) if path.startswith("/") else path] = documentation(compound)
        elif "detail" in name or "@" in name:
            continue
        elif kind in ("class", "struct", "union"):
            if compound.get("prot", "public") == "public":
                add(compound.find("location"), class_entity(compound))
        elif kind == "namespace":
            for member in compound.iter("memberdef"):
                name = member.findtext("name")
                if name and not name.startswith(("operator", "@")):
                    add(member.find("location"), entity(name, int(member.find("location").get("line")), signature(member), documentation(member)))
    return found, heads


def overloads_together(each):
    """An overload without words of its own stands beside the one before it, which has them: the form for pipes, mostly."""
    kept = []
    for e in each:
        if kept and not e.text and not e.members and kept[-1].name == e.name:
            kept[-1].code += "\n" + e.code
        else:
            kept.append(e)
    return kept


def first_sentence(text):
    return re.split(r"(?<=\.)\s", " ".join(text.split()))[0].replace("|", "\\|")


def contents(headers, found, heads):
    """A row per header: what it is for, and its names."""
    rows = ["| header | for | names |", "|---|---|---|"]
    for header in headers:
        names = list(dict.fromkeys(html.unescape(e.name) for e in found[header]))
        said = heads.get(header, "") or next((e.text for e in found[header] if e.text), "")
        anchor = Path(header).name.replace(".", "")
        rows.append(f"| [{Path(header).name}](#{anchor}) | {first_sentence(said)} | {', '.join(f'`{n}`' for n in names[:6])}{' …' if len(names) > 6 else ''} |")
    return rows


def by_use(headers, found, texts):
    """Headers and their names in the order of a reader's needs: how many of the texts, which show the library's use, name them."""
    words = [set(re.findall(r"\w+", text)) for text in texts]
    uses = {e.name: sum(e.name in each for each in words) for header in headers for e in found[header]}
    for header in headers:
        found[header] = overloads_together(sorted(found[header], key=lambda e: e.line))
        found[header].sort(key=lambda e: -uses[e.name])
    return sorted(headers, key=lambda header: (-max(uses[e.name] for e in found[header]), header))


def page(room, summary, headers, found, heads):
    """The Markdown of a room: its headers in order, what each has."""
    lines = [f"# {room}", "", summary, "", *contents(headers, found, heads), ""]
    for header in headers:
        lines += [f"## {Path(header).name}", "", f"`#include <{header}>`", "", heads.get(header, ""), ""]
        shown = None
        for e in found[header]:
            if e.name != shown:
                lines += [f"### `{html.unescape(e.name)}`", ""]
            shown = e.name
            lines += ["```cpp", html.unescape(e.code), "```", "", e.text, ""]
            for code, text in e.members:
                lines += ["```cpp", html.unescape(code), "```", "", text, ""]
    return "\n".join(lines) + "\n"
