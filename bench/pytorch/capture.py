#!/usr/bin/env python3
"""Captures the random models of python/tests by `torch.export`, to see whether a captured graph equals the model.

usage: capture.py [FIRST COUNT]

Each model is captured in its first mode, and then runs the steps of the tests (modes, a flag, an input that is no tensor), beside
itself with the same random numbers of PyTorch, Python and NumPy. Counts models that cannot be captured, that give the model's own
losses in all steps, and that silently give others. Needs a Python with torch.
"""
import collections
import pathlib
import random
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"))
import random_models  # noqa: E402


def seeded(number):
    torch.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number)
    random_models.COUNT[0] = number
    random_models.OWN = numpy.random.default_rng(number)


def of_seed(seed):
    """The outcome of one seed's model."""
    model, whole = random_models.made(seed), random_models.made(seed)
    first = {**random_models.events(seed)[0], "thaw": False}
    for one in (model, whole):
        random_models.apply(one, first)
    x, y = random_models.batch(0, 2)
    try:
        captured = torch.export.export(model, (x, y, first["aux"]), strict=False).module(check_guards=True)
    except Exception as error:
        return f"not captured ({type(error).__name__})"
    for step, event in enumerate(random_models.events(seed)):
        x, y = random_models.batch(10 + step, 2)
        for one in (model, whole):
            random_models.apply(one, event)
        losses = []
        for run in (captured, whole):
            seeded(step)
            try:
                losses.append(run(x, y, event["aux"]).item())
            except Exception:
                return "refused in a step"
        if abs(losses[0] - losses[1]) > 1e-9 * abs(losses[1]):
            return "another loss without a word"
    return "the model's losses"


if __name__ == "__main__":
    begin, count = map(int, sys.argv[1:3] or (0, 40))
    found = collections.Counter(of_seed(seed) for seed in range(begin, begin + count))
    for words, times in found.most_common():
        print(f"{times:4} {words}")
