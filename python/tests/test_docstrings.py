"""Docstrings of public functions and classes name every parameter, as PyTorch's do."""

import inspect
import re

import pytest

import ashlar_pp
import ashlar_verify

torch = pytest.importorskip("torch")
import ashlar_pp.torch  # noqa: E402


def documented():
    """Yields public functions, and methods of public classes, of Python modules."""
    for module in (ashlar_pp, ashlar_pp.torch, ashlar_verify, ashlar_pp.catalog):
        for name in getattr(module, "__all__", ["Published", "find"]):
            one = getattr(module, name)
            if "ashlar" not in str(getattr(one, "__module__", "")):
                continue
            if one.__module__ == "ashlar_pp._core" or not callable(one):
                continue
            yield f"{module.__name__}.{name}", one, one.__doc__
            for inner, method in vars(one).items() if inspect.isclass(one) else ():
                if not inner.startswith("_") and inspect.isfunction(method):
                    yield f"{module.__name__}.{name}.{inner}", method, method.__doc__


CASES = {name: (one, doc) for name, one, doc in documented()}


def test_there_are_such_functions():
    assert {"ashlar_pp.search", "ashlar_pp.torch.Pipeline.step"} < CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_is_described(name):
    one, doc = CASES[name]
    assert doc, "no docstring"
    of_class = inspect.isclass(one) and one.__init__ is not object.__init__
    given = inspect.signature(one.__init__ if of_class else one).parameters
    described = re.findall(r"^ +(\*{0,2}\w+)(?: \([^)]*\))?: ", doc, re.MULTILINE)
    for parameter in given.values():
        words = str(parameter).partition(":")[0].partition("=")[0].strip()
        if words != "self":
            assert words in described, words
    if not inspect.isclass(one) and given.keys() - {"self"}:
        assert "Args:" in doc
