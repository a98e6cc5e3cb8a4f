"""Pairs of our schedules run through Megatron-Core's nodes of layers, in Megatron's own
order or in that of a braid, with the same bits as without.
"""

import contextlib
import itertools
import json
import random
import types

import pytest
from test_megatron import M, are_equal, differences, ours, own

from ashlar_pp import PartCosts, StageParts, catalog

torch = pytest.importorskip("torch")
pytest.importorskip("megatron.core")

EXPERTS = {"exchanged": True}
PAIRS = EXPERTS | {"combined": True, "delayed": True}
# A layer of experts, as costs of its nodes: attention, dispatch, experts, combine.
LAYER = {
    "forward": [("compute", 3), ("exchange", 5), ("compute", 2), ("exchange", 2)],
    "backward": [
        ("exchange", 2),
        ("compute", 2),
        ("compute", 2, "weights"),
        ("exchange", 5),
        ("compute", 3),
        ("compute", 3, "weights"),
    ],
}


def file_of_parts(path, layers):
    backward = [
        {on: ticks} | ({"of": "weights"} if of else {})
        for on, ticks, *of in LAYER["backward"]
    ]
    forward = [{on: ticks} for on, ticks in LAYER["forward"]]
    stage = {"layers": layers, "parts": {"forward": forward, "backward": backward}}
    path.write_text(json.dumps({"costs": {"unit": "us", "stages": [stage]}}))
    return path.read_text()


def test_pairs_have_megatrons_gradients_and_nodes(tmp_path):
    parts = file_of_parts(tmp_path / "parts.json", 2)
    combined = catalog.find("combined-1f1b")(2, M)
    names = ("1f1b", "zb-h1", "v-half", "dualpipev", "stp")
    others = [catalog.find(name)(2, M) for name in names]
    told = PAIRS | {"nodes": True}
    runs = [
        own(chunks=2, **EXPERTS),
        own(chunks=2, **told),
        ours(combined, **told),
        ours(combined, parts=parts, **told),
        ours(combined, combined=True, deallocate=True, shared=0, **EXPERTS),
        *(ours(one, deallocate=True, **PAIRS) for one in others),
    ]
    shared = {"shared": 8}
    runs += [
        own(chunks=2, compare_from_here=True, **EXPERTS, **shared),
        ours(combined, **PAIRS, **shared),
    ]
    wrong = file_of_parts(tmp_path / "wrong.json", 3)
    refused = [
        ours(combined, parts=wrong, **PAIRS),
        ours(others[1], combined=True, **EXPERTS),
        ours(combined, pattern=[1] * 7 + [0], **PAIRS),
    ]
    answers = differences(
        tmp_path, 4, *runs, *(one | {"refused": True} for one in refused)
    )
    are_equal([one[:2] for one in answers[: len(runs)]])
    megatrons, in_turn, best = (one[2] for one in answers[1:4])
    assert in_turn == megatrons
    assert best != megatrons  # the shortest braid of these parts is another one
    assert all(
        sorted(one[stream]) == sorted(other[stream])
        for one, other in zip(best, megatrons)
        for stream in other
    )
    several, split, dense = answers[len(runs) :]
    assert "parts of stage 0 are not those of Megatron's layers: its forward has " in (
        several
    )
    assert "does not go with backwards that autograd splits" in split
    assert "for a last layer without experts, as layer 8: Megatron's plan" in dense


def test_weights_after_steps_with_delayed_reductions(tmp_path):
    more = PAIRS | {"steps": 2, "clip": 0.0}
    runs = []
    for overlap, distributed in ((False, False), (True, True)):
        now = more | {"overlap": overlap, "distributed": distributed}
        runs.append(own(chunks=2, compare_from_here=True, **now))
        names = ("combined-1f1b", "zb-h1", "dualpipev", "stp")
        runs += [ours(catalog.find(name)(2, M), **now) for name in names]
    are_equal(differences(tmp_path, 4, *runs))


def test_prediction_of_a_further_token_in_pairs(tmp_path):
    more = {"mtp": 1, "clip": 0.0}
    runs = [own(chunks=2, **EXPERTS, **more), own(chunks=2, **PAIRS, **more)]
    runs += [
        ours(catalog.find(name)(2, M), **PAIRS, **more)
        for name in ("combined-1f1b", "zb-h1", "v-half")
    ]
    are_equal(differences(tmp_path, 4, *runs))


class Part:
    """A node that notes when it runs."""

    def __init__(self, log, name):
        self.log, self.name, self.detached = log, name, ()

    def forward(self, x=None):
        self.log.append((self.name, "forward"))
        return x

    def backward(self, g):
        self.log.append((self.name, "backward"))
        return g

    def backward_dw(self):
        self.log.append((self.name, "weights"))


def braided(log, which, layers, parts, stage=0):
    """A plan of layers with experts and, if they have none, without."""
    from megatron.core.pipeline_parallel.utils import NoopScheduleNode

    from ashlar_pp.megatron.nodes import Braided

    def layer(number, has_experts):
        nodes = {
            name: Part(log, (which, number, name))
            if has_experts or name in ("attn", "mlp")
            else NoopScheduleNode()
            for name in ("attn", "moe_dispatch", "mlp", "moe_combine")
        }
        return types.SimpleNamespace(
            **nodes,
            mtp_post_process=NoopScheduleNode(),
            get_fp8_context=contextlib.nullcontext,
            release_state=lambda: None,
        )

    each = [layer(i, has_experts) for i, has_experts in enumerate(layers)]
    plan = types.SimpleNamespace(
        get_layer=each.__getitem__,
        num_layers=lambda: len(each),
        pre_process=Part([], "pre"),
        post_process=None,
        record_current_stream=lambda: None,
        wait_current_stream=lambda: None,
        release_state=lambda: None,
    )
    return Braided(plan, stage, contextlib.nullcontext, parts)


def ends(order, chains):
    """When all parts have ended, if each runs as early as this order allows."""
    free, ready, at = {"compute": 0, "exchange": 0}, [0, 0], [0, 0]
    for which in order:
        on, ticks = chains[which][at[which]]
        at[which] += 1
        ready[which] = free[on] = max(free[on], ready[which]) + ticks
    return max(ready)


@pytest.mark.parametrize("letter", ["B", "I", "W"])
def test_nodes_run_in_the_shortest_order(letter):
    dice = random.Random(letter)
    wanted = {"B": ("input", "weights"), "I": ("input",), "W": ("weights",)}[letter]
    for _ in range(12):
        layers = dice.choice([[True], [False], [True, False], [False, True]])
        log, drawn = [], braided([], "", layers, None)
        forward = [(node.on, dice.randint(1, 9)) for node in drawn._ahead]
        backward = [(node.on, dice.randint(1, 9), node.of) for node in drawn._back]
        parts = PartCosts([StageParts(forward, backward)], "best")
        ahead, back = (braided(log, which, layers, parts) for which in ("f", "b"))
        back.letter = letter
        if letter == "W":
            ahead.beside = back
            ahead.run(ahead, None)
        else:
            ahead.run(ahead, back, 0)
        chains = [forward, [(on, ticks) for on, ticks, of in backward if of in wanted]]
        order = [name[0] == "b" for name, _ in log]
        assert [order.count(False), order.count(True)] == [len(one) for one in chains]
        length = len(order)
        shortest = min(
            ends([i in later for i in range(length)], chains)
            for later in itertools.combinations(range(length), len(chains[1]))
        )
        assert ends(order, chains) == shortest
        ran = [name for (of, _, name), _ in log if of == "f"]
        names = [["attn", "mlp"], ["attn", "moe_dispatch", "mlp", "moe_combine"]]
        assert ran == [name for has_experts in layers for name in names[has_experts]]


def test_the_order_of_a_pair_is_that_of_its_costs():
    layer = StageParts(LAYER["forward"], LAYER["backward"])
    in_turn = PartCosts([layer], "in turn").order_of_pair(0, 0)
    # Megatron's: combine, attention; experts and their weights, dispatch; dispatch,
    # experts; attention and its weights, combine
    assert in_turn == [bool(int(one)) for one in "1011010110"]
    with pytest.raises(ValueError, match="kind must be one of"):
        PartCosts([layer]).order_of_pair(0, 0, "forward")
    with pytest.raises(ValueError, match="forward must be from 0 to 1"):
        PartCosts([layer, layer]).order_of_pair(2, 0)
