"""One-line changes of C++ source, and a file that has many of them at once, each behind a switch.

A change replaces one token or one statement inside a function's body, or a number that a member begins with: another comparison or
operator, a number one more or less, the other branch, a condition negated, a statement less. `with_switches` writes each changed body
beside the original, chosen by the variable that `switch.hpp` reads once; in constant evaluation the original is chosen. So members
that are constants are left out.
"""
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'
      |[A-Za-z_]\w*|\d(?:[\w.']|[eE][+-])*|<=>|->\*?|<<=|>>=|::|&&|\|\||<<|[-+*/%&|^<>=!]=|\+\+|--|\S""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]")
OTHERS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<"], ">=": [">", "<"], "==": ["!="], "!=": ["=="], "+": ["-"], "-": ["+"],
          "*": ["/"], "/": ["*"], "%": ["*"], "+=": ["-="], "-=": ["+="], "++": ["--"], "--": ["++"], "&&": ["||"], "||": ["&&"],
          "true": ["false"], "false": ["true"], "break": ["continue"], "continue": ["break"], "!": [""]}
BETWEEN = {"<", ">", "*", "&&", "-", "+"}
OPENS, CLOSES = {"(": ")", "{": "}", "[": "]"}, {")": "(", "}": "{", "]": "["}
BEFORE_BODY = {")", "const", "noexcept", "override", "final", "&", "&&", ">", "}"}


@dataclass(frozen=True)
class Token:
    text: str
    begin: int
    end: int


@dataclass(frozen=True)
class Body:
    """The tokens of a function's body with its braces, or of what a type declares outside of these."""
    first: int
    last: int
    is_function: bool


@dataclass(frozen=True)
class Change:
    line: int
    old: str  # the line
    new: str
    begin: int  # what is replaced, in characters of the source
    end: int
    by: str
    body: int  # among bodies_of(source)


def tokens_of(source):
    """Tokens without comments and preprocessor lines."""
    return [Token(m.group().strip(), m.start(), m.end()) for m in TOKEN.finditer(source)
            if not m.group().startswith(("//", "/*")) and not m.group().lstrip().startswith("#")]


def partners_of(tokens):
    """The place of each bracket's other one."""
    partner, open_ = {}, []
    for i, t in enumerate(tokens):
        if t.text in OPENS:
            open_.append(i)
        elif t.text in CLOSES:
            partner[i] = open_.pop()
            partner[partner[i]] = i
    return partner


def bodies_of(tokens, partner):
    """Bodies of functions, and members of types with a first value."""
    found = []

    def walk(first, last, in_type):
        start = i = first
        while i < last:
            text = tokens[i].text
            if text in ("(", "["):
                i = partner[i]
            elif text == ";":
                if in_type and "constexpr" not in {t.text for t in tokens[start:i]}:
                    found.append(Body(start, i, False))
                start = i + 1
            elif text == "{":
                head = [t.text for t in tokens[start:i]]
                end = partner[i]
                if "namespace" in head or ("extern" in head and "(" not in head):
                    walk(i + 1, end, False)
                elif {"struct", "class", "union"} & set(head) and "(" not in head and "=" not in head:
                    walk(i + 1, end, True)
                elif "(" in head and not {"concept", "requires", "enum"} & set(head) and (
                        head[-1] in BEFORE_BODY or "->" in head):
                    found.append(Body(i, end, True))
                    if ":" in head and in_type:
                        found.append(Body(start + head.index(":"), i, False))  # a constructor's members
                else:  # a list, an enumeration or a concept
                    i = end + 1
                    continue
                i, start = end, end + 1
            i += 1

    walk(0, len(tokens), False)
    return found


def statement_end(tokens, partner, i, last):
    """The place of the semicolon that ends the statement from i on, if it has no block."""
    while i < last and tokens[i].text != ";":
        if tokens[i].text in ("(", "["):
            i = partner[i]
        elif tokens[i].text in ("{", "}"):
            return None
        i += 1
    return i if i < last else None


def replacements(tokens, partner, body):
    """(first token, last token, text) of each replacement in a body."""
    for i in range(body.first + 1, body.last):
        t, before = tokens[i].text, tokens[i - 1].text
        if re.fullmatch(r"\d[\d']*", t):
            value = int(t.replace("'", ""))
            for new in (value + 1, value - 1):
                text = str(new) if new >= 0 else f"({new})"
                if body.is_function:
                    yield i, i, text
                elif before in ("=", "(", "{", ",", "+", "-"):
                    yield i, i, text
            continue
        if not body.is_function:
            continue
        apart = tokens[i - 1].end < tokens[i].begin and tokens[i].end < tokens[i + 1].begin
        if apart or t not in BETWEEN:  # between two types or before a name it is no operator
            for new in OTHERS.get(t, []):
                yield i, i, new
        if t == "if" and tokens[i + 1].text == "(":
            yield i + 1, i + 1, "(!("  # closed below
        if t == "?":
            depth, j = 0, i + 1
            while depth or tokens[j].text != ":":
                depth += {"?": 1, ":": -1}.get(tokens[j].text, 0)
                j = partner[j] + 1 if tokens[j].text in OPENS else j + 1
            k = j + 1
            while tokens[k].text not in (";", ",", ")", "}", "]", ":"):
                k = partner[k] + 1 if tokens[k].text in OPENS else k + 1
            yield i, k - 1, (i + 1, j, k)
        starts = before in (";", "{", "}") or (before == ")" and tokens[partner[i - 1] - 1].text in ("if", "for", "while"))
        if starts and (WORD.match(t) or t in ("*", "++", "--")) and t not in ("if", "for", "while", "return", "break", "continue", "using"):
            end = statement_end(tokens, partner, i, body.last)
            if end is not None:
                yield i, end, ";"


def changes_of(source):
    """All changes of a source, each within one line."""
    tokens = tokens_of(source)
    partner = partners_of(tokens)
    found = []
    for number, body in enumerate(bodies_of(tokens, partner)):
        for first, last, text in replacements(tokens, partner, body):
            begin, end = tokens[first].begin, tokens[last].end
            if isinstance(text, tuple):
                middle, colon, after = text
                text = f"? {source[tokens[colon].end:end].strip()} : {source[tokens[middle].begin:tokens[colon].begin].strip()}"
            elif text == "(!(":
                close = partner[first]
                inside = source[tokens[first].end:tokens[close].begin]
                if ";" in inside or re.search(r"\w\s+(?:const\s+)?[*&]?\s*\w+\s*=[^=]", inside):
                    continue  # it declares what it asks
                end, text = tokens[close].end, f"(!({inside}))"
            if "\n" in source[begin:end]:
                continue
            left, right = source.rfind("\n", 0, begin) + 1, source.find("\n", end)
            found.append(Change(source.count("\n", 0, begin) + 1, tidy(source[left:right]),
                                tidy(source[left:begin] + text + source[end:right]), begin, end, text, number))
    return found


def tidy(line):
    """A line as a compiler sees it."""
    return " ".join(re.sub(r"//.*|/\*.*?\*/", "", line).split())


def with_switches(source, chosen):
    """The source with the changes of `chosen`, {number: Change}, and which number each of its lines belongs to, {line: numbers}."""
    tokens = tokens_of(source)
    bodies = bodies_of(tokens, partners_of(tokens))
    edits = []  # (begin, end, pieces), pieces of (text, numbers)
    for index, body in enumerate(bodies):
        mine = {n: c for n, c in chosen.items() if c.body == index}
        if not mine:
            continue
        begin, end = tokens[body.first].begin, tokens[body.last].end
        if body.is_function:
            pieces = [("{\n", ())]
            for n, c in mine.items():
                changed = source[begin:c.begin] + c.by + source[c.end:end]
                pieces += [(f"if (::ashlar_mutation::is({n}))\n{changed}\nelse\n", (n,))]
            edits.append((begin, end, pieces + [(source[begin:end] + "\n}", tuple(mine))]))
            continue
        for at in sorted({(c.begin, c.end) for c in mine.values()}):
            text = source[slice(*at)]
            here = {n: c for n, c in mine.items() if (c.begin, c.end) == at}
            for n, c in here.items():
                text = f"(::ashlar_mutation::is({n}) ? {c.by} : {text})"
            edits.append((*at, [("\n" + text + "\n", tuple(here))]))
    written, at, owners, line = [], 0, {}, 1
    for begin, end, pieces in sorted(edits, key=lambda e: e[0]):
        for text, numbers in [(source[at:begin], ()), *pieces]:
            written.append(text)
            for l in range(line, line + text.count("\n") + 1):
                owners[l] = tuple(owners.get(l, ())) + tuple(numbers)
            line += text.count("\n")
        at = end
    return "".join(written) + source[at:], owners
