"""Configurations that are Python, by their syntax: read.scripts.python_values."""

import pathlib

import pytest

from ashlar_pp.read.run_file import Unreadable
from ashlar_pp.read.scripts.python_values import CALL, Call, Code, python_values
from ashlar_pp.read.values import read_file

PATH = pathlib.Path("a.py")


def values(text, **environment):
    return python_values(text, PATH, environment)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 3 * 4 + 2**5 - 7 // 2", 41),
        ("a = int(2048 - (336 / 14) ** 2)", 1472),
        ("b = 2\nb *= 3\na = b", 6),
        ("b, (c, d) = 1, (2, 3)\na = [d, c, b]", [3, 2, 1]),
        ("b = dict(c=1, **{'d': 2})\nb['e'] = {**b}\na = b['e']", {"c": 1, "d": 2}),
        ("b = [1]\nb += [2]\nb.append(3)\na = b[-1], *b[:2]", (3, 1, 2)),
        ("b = 'x'\na = f'{b}/y' + '/z'", "x/y/z"),
        ("a = 1 if 3 > 2 >= 2 and not [] else 2", 1),
        ("a = None or 5", 5),
        ("a = 0\nfor b in range(4):\n  if b == 1: continue\n  a += b", 5),
        ("a = 0\nfor b, c in [(1, 2), (3, 4)]:\n  a = c\n  break", 2),
        ("a = [b * c for b, c in zip([1, 2], (3, 4)) if c != 3]", [8]),
        ("b = [1]\na = [b for b in (2, 3)] and b", [1]),
        ("def f(x): return x\na = 1", 1),
        ("import torch\na = torch.float16", "torch.float16"),
        ("from torch.optim import AdamW as A\na = A", "torch.optim.AdamW"),
        ("import os\na = os.environ['B'] + os.environ.get('C', 'd')", "bd"),
        ("import os\na = 1 if 'C' in os.environ else 2", 2),
        ("import os\nos.environ['C'] = '7'\na = int(os.getenv('C'))", 7),
        (
            "from torch.optim import A\nb = None\na = (A is None, b is not None)",
            (False, False),
        ),
    ],
)
def test_values(text, expected):
    assert values(text, B="b")["a"] == expected


def test_calls_keep_their_names():
    made = values("from m import C\na = C(3, b=4)\na.b = 5\na.d.e = 6\nf = a.g")
    assert made["a"] == {
        CALL: "m.C",
        "_words_": [3],
        "b": 5,
        "d": {CALL: "m.C.d", "e": 6},
    }
    assert isinstance(made["a"], Call) and isinstance(made["f"], Code)
    assert made["f"] == "m.C.g" and "C" not in made


@pytest.mark.parametrize(
    "text",
    [
        "a = unknown()",
        "import os\na = os.environ['NONE'] + 1",
        "import m\na = 1\nif m.f():\n  a = 2",
        "import m\na = 1\nfor b in m.f():\n  a += b",
        "import m\na = [1]\nfor b in m.f():\n  a.append(b)",
        "import m\na = {}\nif m.f():\n  a['b'] = 2",
        "import m\na = m.x if m.y else 3",
        "with open('f') as a:\n  pass",
        "a = (lambda: 3)()",
        "a = '%9999999999d' % 1",
        "a = ().__class__.__base__",
    ],
)
def test_no_value_is_guessed(text):
    made = values(text)["a"]
    assert isinstance(made, (Code, Call)), made


def test_nothing_runs(tmp_path):
    there = tmp_path / "there"
    python_values(
        f"import os\nos.mkdir({str(there)!r})\na = open({str(there)!r}, 'w')\n"
        f"__import__('os').mkdir({str(there)!r})\nexec('a = 2')\n",
        tmp_path / "a.py",
        {},
    )
    assert not there.exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = (", "never closed"),
        ("a = 1 / 0", "line 1: ZeroDivisionError"),
        ("\na = [1][2]", "line 2: IndexError"),
        ("raise ValueError('no')", "it stops by ValueError('no')"),
        ("try:\n  a = 1\nexcept E:\n  a = 2", "not read: Try"),
        ("while True:\n  pass", "not read: While"),
        ("a = 10 ** 10 ** 7", "too large"),
        ("a = [0] * 10 ** 9", "too large"),
        ("a = 'ab'\n" + "a += a\n" * 25, "too large"),
        ("a = [1]\n" + "a.extend(a)\n" * 25, "too large"),
        ("a = list(range(10 ** 9))", "too large"),
        ("for a in range(900):\n  for b in range(900):\n    c = b", "too many steps"),
        ("with read_base():\n  import torch", "only files beside this one"),
    ],
)
def test_refusals(text, why):
    if "read_base" in text:
        text = "from mmengine.config import read_base\n" + text
    with pytest.raises(Unreadable) as caught:
        values(text)
    assert why in str(caught.value)


def test_files_beside_it(tmp_path):
    (tmp_path / "base.py").write_text("b = 2\nc = dict(d=b)\n")
    own = tmp_path / "own.py"
    begin = "from mmengine.config import read_base\nwith read_base():\n"
    own.write_text(begin + "  from .base import *\nc.update(e=b)\n")
    assert read_file(own) == {"b": 2, "c": {"d": 2, "e": 2}}
    own.write_text(begin + "  from .own import *\n")
    with pytest.raises(Unreadable, match="reads itself"):
        read_file(own)
    own.write_text(begin + "  from .none import *\n")
    with pytest.raises(Unreadable, match="is not there"):
        read_file(own)
