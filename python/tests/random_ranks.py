"""Program of the processes of test_random_models.py: each seed's model in a pipeline,
beside itself without one.
"""

import json
import os
import random
import sys

import random_models
import ranks
import torch
from torch import nn

import ashlar_pp.torch

MICRO_BATCHES = 4
SCHEDULES = ["1f1b", "zb-h1", "1f1b-v", "v-half", "depth-first", "gpipe"]


def _seen(model):
    """The visible state of a model."""
    found = {name: t.detach().clone() for name, t in model.state_dict().items()}
    for name, one in model.named_modules():
        if type(one) is nn.Module or isinstance(one, nn.ModuleList) or not name:
            continue  # containers of layers are made anew
        found |= {
            f"{name}:{key}": value
            for key, value in vars(one).items()
            if isinstance(value, (int, float, str))
        }
    return found


def _is_equal(a, b):
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def _reference(pipe, model, x, y, aux):
    """The loss and gradients of one step of the model alone, with the pipeline's random
    numbers.
    """
    model.zero_grad()
    losses = []
    for k, (one, target) in enumerate(
        zip(x.chunk(MICRO_BATCHES), y.chunk(MICRO_BATCHES))
    ):
        with pipe.same_numbers(model, k):
            loss = model(one, target, aux)
        (loss / MICRO_BATCHES).backward()
        losses.append(loss.item())
    return sum(losses) / MICRO_BATCHES


def _far(a, b):
    if a is None or b is None:
        return 0.0 if a is b else float("inf")
    return float((a - b).abs().max() / (1e-3 + b.abs().max()))


def one(seed):
    """The largest difference of loss, gradients and states to the model's own, or the
    words of the refusal.
    """
    chosen = random.Random(seed)
    model, whole = random_models.made(seed), random_models.made(seed)
    first = random_models.events(seed)[0]
    for of in (model, whole):
        random_models.apply(
            of,
            {**first, "thaw": False}
            if chosen.random() < 0.5
            else {**first, "thaw": False, "train": False},
        )
    rows = chosen.choice([1, 2])
    rows = (
        max(rows, 2)
        if any("norm" in name for name, _ in whole.named_modules())
        else rows
    )
    x, y = random_models.batch(0, rows)
    before = _seen(model)
    random_models.COUNT[0] = 0
    states = torch.get_rng_state(), random.getstate()
    try:
        pipe = ashlar_pp.torch.Pipeline(
            model,
            {"x": x, "y": y, "aux": False},
            micro_batches=MICRO_BATCHES,
            schedule=chosen.choice(SCHEDULES),
            repeats=1,
            trials=0,
            budget=20,
        )
    except (ValueError, RuntimeError) as error:
        return {
            "refused": str(error),
            "at": "making" if isinstance(error, ValueError) else "step",
        }
    if not (
        torch.equal(states[0], torch.get_rng_state()) and states[1] == random.getstate()
    ):
        return {"far": float("inf"), "why": "making a pipeline draws random numbers"}
    if any(
        name in before and not _is_equal(value, before[name])
        for name, value in _seen(pipe.module).items()
    ):
        return {"far": float("inf"), "why": "making a pipeline changes the model"}
    count = random_models.COUNT[0]
    far = 0.0
    for step, event in enumerate(random_models.events(seed)):
        x, y = random_models.batch(10 + step, rows * MICRO_BATCHES)
        random_models.apply(model, event)
        random_models.apply(whole, event)
        pipe.zero_grad()
        random_models.COUNT[0] = count
        own = random_models.OWN.bit_generator.state
        try:
            loss = pipe.step({"x": x, "y": y, "aux": event["aux"]}).item()
        except (ValueError, RuntimeError) as error:
            if any(p.grad is not None for p in pipe.parameters()):
                return {"far": float("inf"), "why": f"gradients after {error}"}
            return {"refused": str(error), "at": "step"}
        random_models.COUNT[0] = count
        random_models.OWN.bit_generator.state = own
        expected = _reference(pipe, whole, x, y, event["aux"])
        count = random_models.COUNT[0]
        known = dict(whole.named_parameters(remove_duplicate=False))
        state = whole.state_dict()
        far = max(
            far,
            abs(loss - expected) / abs(expected),
            *(_far(p.grad, known[name].grad) for name, p in pipe.named_parameters()),
            *(
                _far(value.double(), state[name].double())
                for name, value in pipe.state_dict().items()
            ),
        )
        counted = {
            name: one.calls
            for name, one in whole.named_modules()
            if isinstance(one, random_models.Annealed)
        }
        if any(
            counted[name] != one.calls
            for name, one in pipe.module.named_modules()
            if name in counted
        ):
            return {"far": float("inf"), "why": "a layer has counted otherwise"}
    return {"far": far}


def several(seeds):
    """Results by seed. A refusal in a step leaves messages under way, and ends both
    processes.
    """
    found = {}
    for seed in seeds:
        found[seed] = one(seed)
        if found[seed].get("at") == "step":
            print(json.dumps(found), flush=True)
            os._exit(0)
    return found


if __name__ == "__main__":
    ranks.main(globals(), *sys.argv[1:])
