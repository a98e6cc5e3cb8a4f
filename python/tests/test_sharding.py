"""Two copies of a pipeline of two ranks."""

import pytest
from launching import on_ranks

CLOSE = 1e-12
MODES = ["optimizer", "gradients", "weights", "full"]
PLANS = [
    ["depth-first", "weights", {"stages": 1}],
    ["depth-first", "weights", {"stages": 2, "lookahead": 1}],
    ["depth-first", "weights", {"stages": 1, "passes_ahead": 0}],
    ["interleaved-zb", "weights", {"stages": 1, "passes_ahead": 2}],
]


@pytest.fixture(scope="module")
def sharded():
    return on_ranks(
        "fully_sharded",
        4,
        [[name, mode] for name in ("zb-h1", "1f1b") for mode in MODES] + PLANS,
    )


def test_gradients_of_sharded_stages_are_those_of_the_whole_model(sharded):
    for rank in sharded:
        assert len(rank) == 2 * len(MODES) + len(PLANS)
        for key, found in rank.items():
            assert found["gradients"] <= CLOSE, key


def test_each_copy_has_losses_of_its_own_batch(sharded):
    for number, rank in enumerate(sharded):
        for found in rank.values():
            if number % 2 == 1:  # the last device
                assert found["losses"] == pytest.approx(
                    found["expected_losses"], rel=CLOSE
                )


def test_copies_have_the_mean_of_their_gradients_whatever_runs_them():
    cases = [
        ["1f1b", "ashlar"],
        ["zb-h1", "ashlar"],
        ["chimera", "ashlar"],
        ["1f1b", "auto"],
        ["zb-h1", "pytorch"],
    ]
    cases += [
        ["zb-h1", "auto", "ddp"],
        ["v-half", "ashlar", "ddp"],
        ["1f1b", "auto", "ddp", "views"],
    ]
    for rank in on_ranks("copies_of_pipelines", 4, cases):
        assert len(rank) == len(cases) and max(rank.values()) <= CLOSE, rank


def test_nested_sharded_modules_keep_their_gradients_in_split_backwards():
    for rank in on_ranks("nested_in_fully_shard", 2):
        assert rank["gradients"] <= CLOSE
        assert "sharding='optimizer'" in rank["refused"]
        assert "is not in fully_shard" in rank["whole"]
