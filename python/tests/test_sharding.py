"""Two copies of a pipeline of two ranks."""

import pytest
from launching import on_ranks

CLOSE = 1e-12
MODES = ["optimizer", "gradients", "weights", "full"]


@pytest.fixture(scope="module")
def sharded():
    return on_ranks("fully_sharded", 4, [[name, mode] for name in ("zb-h1", "1f1b") for mode in MODES])


def test_gradients_of_sharded_stages_are_those_of_the_whole_model(sharded):
    for rank in sharded:
        assert len(rank) == 2 * len(MODES)
        for key, found in rank.items():
            assert found["gradients"] <= CLOSE, key


def test_each_copy_has_losses_of_its_own_batch(sharded):
    for number, rank in enumerate(sharded):
        for found in rank.values():
            if number % 2 == 1:  # the last device
                assert found["losses"] == pytest.approx(found["expected_losses"], rel=CLOSE)


def test_copies_in_our_runtime_sum_their_gradients():
    for rank in on_ranks("copies_of_pipelines", 4, ["1f1b", "zb-h1", "chimera"]):
        assert max(rank.values()) <= CLOSE, rank
