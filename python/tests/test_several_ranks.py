"""What ranks give to each other, and what they say of one that hangs."""

import pytest
from launching import on_ranks


@pytest.mark.parametrize("name", ["1f1b", "v-half", "chimera"])
def test_several_tensors_of_several_shapes(name):
    for rank in on_ranks("several_tensors", 2, name):
        assert len(rank) == 2 and max(rank) <= 1e-12


def test_a_rank_that_hangs_is_named_by_all_others():
    timeout = 8
    ranks = on_ranks("one_hangs", 4, timeout)
    for number, found in enumerate(ranks):
        assert found["rank"] == found["stage"] == 1, found
        assert found["instruction"] in found["words"] and found["micro_batch"] is not None
        assert found["untouched"]
        if number == 1:  # comes back after all
            assert "has given up: this rank has not" in found["words"]
        else:
            assert "rank 1 hangs" in found["words"]
            assert found["after"] < 2.5 * timeout
