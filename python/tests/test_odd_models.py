"""Models that are unusual in or between their layers train as without a pipeline, or
are refused by name.
"""

from launching import on_ranks


def from_odd(function, world, arguments=None):
    return on_ranks(function, world, arguments, script="odd_ranks.py")


def test_gradients_and_states_are_those_of_the_model():
    for rank in from_odd("train", 2):
        assert len(rank) == 12
        assert {name: off for name, off in rank.items() if off > 1e-14} == {}


def test_clipping_is_by_the_norm_of_all_stages():
    for rank in from_odd("clips", 2, ["1", "2", "inf"]):
        for kind, (norm_off, gradients_off, norm) in rank.items():
            assert norm_off <= 1e-14 and gradients_off <= 1e-16 and norm > 1e-3, kind


def test_hooks_of_gradients_are_called():
    for rank in from_odd("hooks", 2):
        for while_measured, called, expected in rank:
            assert while_measured == 0 and called == expected > 0


def test_a_model_has_the_parameters_of_its_rank():
    ranks = from_odd("through_the_model", 2)
    assert all(
        rank["mine"] and rank["zero"] and rank["gathered"] and rank["off"] <= 1e-14
        for rank in ranks
    )
    assert all(
        "this is no state of the whole model: pipe.whole_state_dict() gathers it"
        in rank["whole"]
        for rank in ranks
    )
    assert (
        sorted(name for rank in ranks for name in rank["names"])
        == ranks[0]["all_names"]
    )


def test_what_would_be_trained_wrong_is_refused_by_name():
    words = {
        "boxes": "0 returns a Box with tensors inside",
        "buffer": "the model's own forward changes the buffer 'count'",
        "generator": "the model's own forward changes '__main__.DICE'",
        "reentrant": "calls layers.0.0 in a checkpoint with use_reentrant=True",
        "loss": "loss_fn has a parameter of its own",
        "no number": "the model's loss of the example is nan",
        "one micro-batch": (
            "has 4 rows, as the example, which is one micro-batch; a batch of 4 has 16"
        ),
        "object": (
            "the target is a Target, which is not cut in micro-batches: give tensors"
        ),
        "other example": "rank 1 of the pipeline was given another example than rank 0",
        "other batch": "rank 1 of the pipeline was given another batch than rank 0",
        "one target": "the target has 4 rows",
    }
    for rank in from_odd("refused", 2):
        assert sorted(rank) == sorted(words)
        for name, said in words.items():
            assert said in rank[name], (name, rank[name])


def test_what_is_seen_in_a_step_is_refused_by_name():
    (said,) = from_odd("refused_in_a_step", 1)
    assert (
        "layers.0 gives" in said["numbers"]
        and "only tensors go to other stages" in said["numbers"]
    )
    assert (
        "calls layers." in said["across"]
        and "which is in another stage: put the checkpoint into the layers"
        in said["across"]
    )


def test_a_step_that_fails_in_a_new_mode_counts_nothing():
    (said,) = from_odd("fails_in_a_new_mode", 1)
    assert "no gradient" in said["words"] and said["kept"]
