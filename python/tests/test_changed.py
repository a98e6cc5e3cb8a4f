"""Changes, batches and states of a trainer beside a pipeline are right, or refused on
every rank.
"""

import pytest
from launching import on_ranks


def from_changed(function, arguments=None, world=2):
    return on_ranks(function, world, arguments, script="changed_ranks.py")


def test_ties_that_are_trained_later_and_hooks_of_parts_of_gradients():
    for rank in from_changed("ties"):
        assert (
            "embed.weight is in stages of ranks [0, 1], and requires a gradient on [1] "
            "alone" in rank["on one rank"]
        )
        assert (
            "embed.weight is in stages of several ranks and has hooks of its gradient"
            in rank["hook"]
        )
        assert max(rank["off"], rank["off with another term"]) <= 1e-15


def test_ranks_agree_in_every_step():
    for number, rank in enumerate(from_changed("batches")):
        for case in ("other", "turned"):
            assert (
                "rank 1 of the pipeline was given another batch than rank 0"
                in rank[case]
            ), case
        for case in ("mode", "evaluates"):
            assert (
                "rank 1 of the pipeline has set the model otherwise than rank 0"
                in rank[case]
            ), case
        said = (
            "4 micro-batches of the example's (2, 5) are (8, 5)"
            if number == 1
            else "rank 1 of the pipeline refuses its batch"
        )
        assert said in rank["short on one rank"]
        assert "has 1 rows, as the example, which is one micro-batch" in rank["one row"]
        assert rank["trains on"]


@pytest.mark.parametrize(
    "what, words, world",
    [
        ("writes", "changes the batch in place", 1),
        ("python", "draws from Python's or NumPy's generator", 2),
        ("numpy", "draws from Python's or NumPy's generator", 2),
    ],
)
def test_what_a_model_does_first_after_it_was_traced_is_refused(what, words, world):
    for rank in from_changed("later", what, world):
        assert words in rank["words"] and rank["undone"]


def test_sequences_of_other_lengths_are_traced_once_each():
    for rank in from_changed("lengths"):
        assert max(rank["off"]) <= 1e-15
        assert rank["kept"] == [1, 2, 2, 3, 3]


def test_backwards_that_add_up_gradients_themselves_are_refused():
    for rank in from_changed("accumulates"):
        assert (
            "the backward of layers.1 adds to weight.main_grad by itself"
            in rank["main_grad"]
            and rank["left"] == 0
        )
        assert (
            "the backward of layers.1 writes to .grad of its weights by itself"
            in rank["grad"]
        )


def test_all_ranks_skip_a_step_or_none():
    found = from_changed("scalers")
    for rank in found:
        assert (
            "ShardedGradScaler" in rank["global"]
            and "ShardedGradScaler" in rank["enclosed"]
        )
        assert not rank["stepped"] and rank["scale"] == found[0]["scale"] == 2.0**7


def test_states_of_optimizers_go_by_names():
    found = from_changed("optimizers")
    assert any("the optimizer's state of " in rank["by number"] for rank in found)
    for rank in found:
        assert rank["dealt otherwise"] and rank["whole"] and rank["off"] <= 1e-15
