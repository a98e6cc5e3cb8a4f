"""Ranks exchange several tensors, and name a rank that hangs or fails."""

import pytest
from launching import on_ranks


@pytest.mark.parametrize("name", ["1f1b", "v-half", "chimera"])
def test_several_tensors_of_several_shapes(name):
    for rank in on_ranks("several_tensors", 2, name):
        assert len(rank) == 2 and max(rank) <= 1e-12


RUNTIMES = pytest.mark.parametrize("runtime", ["ashlar", "pytorch"])


@RUNTIMES
def test_a_rank_that_hangs_is_named_by_all_others(runtime):
    timeout = 8
    ranks = on_ranks("one_hangs", 4, [timeout, runtime, False])
    for number, found in enumerate(ranks):
        assert found["untouched"]
        assert found["rank"] == found["stage"] == 1, found
        assert (
            found["instruction"] in found["words"] and found["micro_batch"] is not None
        )
        if number == 1:
            assert (
                "has given up because of this rank: rank 1 hangs at 1F"
                in found["words"]
            )
        else:
            assert "rank 1 hangs" in found["words"]
            assert found["after"] < 2.5 * timeout


@RUNTIMES
def test_a_rank_that_fails_is_named_by_all_others(runtime):
    """They name it by its own words, while its process lives on."""
    ranks = on_ranks("one_hangs", 4, [8, runtime, True])
    for number, found in enumerate(ranks):
        assert found["untouched"] and "no third" in found["words"]
        if number != 1:
            assert found["rank"] == found["stage"] == 1, found
            assert (
                f"rank 1 failed at 1F{found['micro_batch']}: ValueError: no third"
                in found["words"]
            )
