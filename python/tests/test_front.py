"""`Pipeline` trains what the unpiped model trains, and refuses the rest by name."""

import importlib.util

import pytest
import torch
from devices import DEVICE
from launching import on_ranks
from torch import nn

from ashlar_pp.torch.layers import all_visiting, find_layers, visiting

CLOSE = 2e-6
"""Tolerance of losses around 5, and of parameters, where sums are in another order:
over the weight passes of a searched schedule, or for parameters in two stages.
"""

needs_transformers = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None,
    reason="this Python has no transformers",
)


def from_front(function, world, arguments=None):
    return on_ranks(function, world, arguments, script="front_ranks.py")


def must_train(ranks, name, exact=False):
    """Every rank has the unpiped model's losses, and together they have its whole
    state.
    """
    for rank in ranks:
        found = rank[name]
        if exact:
            assert found["losses"] == found["expected"], name
        assert found["losses"] == pytest.approx(found["expected"], rel=CLOSE), name
        assert found["off"] <= CLOSE, name
    assert (
        sorted({key for rank in ranks for key in rank[name]["names"]})
        == ranks[0][name]["all_names"]
    )


MODELS = [
    "llama",
    "qwen3_moe",
    "mixtral",
    "gemma2",
    "gpt2",
    "bloom",
    "opt",
    "mamba",
    "bert",
    "vit",
    "t5",
]


@needs_transformers
def test_models_of_transformers_train_as_without_a_pipeline():
    ranks = from_front("all_train", 2, MODELS)
    for name in MODELS:
        must_train(ranks, name)
    explained = ranks[0]["llama"]["explained"]
    assert (
        "model.layers" in explained
        and "searched, linear" in explained
        and "memory by device" in explained
    )
    assert (
        "every stage computes again from the inputs: what the model does between its "
        "layers, and model.rotary_emb" in explained
    )
    assert ranks[0]["llama"]["explained"] == ranks[1]["llama"]["explained"]


@needs_transformers
def test_four_stages_carry_what_later_ones_read():
    ranks = from_front("all_train", 4, ["t5"])
    must_train(ranks, "t5")
    assert any(
        "encoder.final_layer_norm" in line
        for line in ranks[0]["t5"]["explained"].splitlines()
        if "to stage" in line
    )


@needs_transformers
def test_checkpoints_autocast_compiled_and_frozen_layers():
    ranks = from_front("with_options", 2)
    for name in ranks[0]:
        must_train(ranks, name, exact="in order" in name)


@pytest.mark.parametrize("world", [3, 4])
def test_ranks_meet_in_any_number(world):
    for rank in from_front("meets", world):
        assert rank["gathered"] == [[k, -(2**62) + k] for k in range(world)]
        assert rank["again"] == [[k] for k in range(world)]
        assert rank["sum"] == [world * (world - 1) // 2, world]


def test_copies_have_the_mean_gradient():
    for rank in from_front("copies", 4):
        assert max(rank.values()) <= 1e-15, rank


class Moves(nn.Linear):
    """Records where it is moved, and stays where it is."""

    def __init__(self, told):
        super().__init__(2, 2)
        self.told = told

    def to(self, device):
        self.told.append(str(device))
        return self

    def forward(self, x):
        self.told.append("called")
        return super().forward(x)


def test_layers_visit_the_device_for_their_calls():
    told = []
    model = nn.Sequential(Moves(told), nn.Sequential(Moves(told)))
    opened, layers = find_layers(model, 2)
    with all_visiting(model, opened, layers, torch.device("meta")):
        model(torch.ones(1, 2, device="cpu"))
    assert told == 2 * ["meta", "called", "cpu"]
    model(torch.ones(1, 2, device="cpu"))
    assert told[6:] == ["called", "called"]
    with pytest.raises(RuntimeError), visiting(model[0], torch.device("meta")):
        raise RuntimeError
    assert told[8:] == ["meta", "cpu"]


@needs_transformers
@pytest.mark.skipif(DEVICE == "cpu", reason="for GPUs")
def test_a_model_in_the_hosts_memory():
    for rank in from_front("from_the_host", 2):
        assert rank["losses"] == pytest.approx(rank["expected"], rel=CLOSE) and rank[
            "places"
        ] == ["cuda"]


def test_what_has_no_gradient_goes_from_stage_to_stage():
    schedules = ["1f1b", "zb-h1", "v-half"]
    for rank in from_front("without_gradient", 2, schedules):
        assert sorted(rank) == sorted(schedules) and max(rank.values()) <= 1e-15, rank


def test_layers_with_divided_matrices():
    for rank in from_front("tensor_parallel", 4):
        assert rank["off"] <= 1e-15
        assert rank["loss"] == pytest.approx(rank["expected"], rel=1e-6)


@needs_transformers
def test_states_are_those_of_the_model():
    for rank in from_front("states", 2):
        assert rank["loaded"] == rank["expected"] != rank["trained"]
        assert rank["trained"] == rank["saved"] == rank["again"]


@needs_transformers
def test_a_search_with_what_was_measured_changes_no_loss():
    first, second = from_front("adapts", 2)
    assert (
        first["losses"]
        == second["losses"]
        == pytest.approx(first["expected"], rel=CLOSE)
    )
    assert first["csv"] == second["csv"] and first["changed"] == second["changed"]
    assert first["changed"][0]  # every searched schedule is better than GPipe
    assert first["peak"][1] < first["peak"][0]


def test_one_rank_and_an_error_in_a_step():
    (alone,) = from_front("alone", 1)
    assert alone["loss"] == pytest.approx(alone["expected"], rel=1e-6)
    assert alone["off"] == alone["off after"] == 0
    assert (
        "the model comes to part0.0 where it came to part1.0 with the example"
        in alone["chooses"]
    )


@needs_transformers
def test_what_cannot_be_is_refused_by_name():
    words = {
        "DistributedDataParallel": "give data_group instead",
        "compiled": "compile its layers",
        "meta": "give them numbers first",
        "memory": "no schedule is within 2048 bytes",
        "unit": "memory must be bytes",
        "few": "too few layers for 2 devices",
        "name": "no module 'part77'",
        "looks": "the model decides by what part0.2 gives",
        "borrows": "computes with a parameter of part0",
        "loss": "must have a `loss`",
        "devices": "the group has 2 ranks",
        "schedule": "did you mean '1f1b'",
        "chimera": "Pipeline cannot run the schedule: stage 0 is on devices 0 and 1",
        "inference": "it has no backwards",
        "chunks": "its sequences come in chunks",
        "counts": "in its forward, which the schedule computes again",
        "routers": "collects router_logits from inside its layers",
        "short": "4 micro-batches of the example's (4, 8) are (16, 8)",
        "autocast": "and was None when the pipeline was made",
        "no_grad": "call evaluate()",
    }
    for rank in from_front("refused", 2):
        assert sorted(rank) == sorted(words)
        for name, said in words.items():
            assert said in rank[name], name
