"""A real run gives costs for a searched schedule; wrong arguments are refused."""

import pytest
from launching import on_ranks


@pytest.fixture(scope="module")
def ranks():
    return on_ranks("profiled", 2)


def test_all_ranks_measure_the_same_costs(ranks):
    first, second = ranks
    assert (
        first["per_stage"] == second["per_stage"]
        and first["transfer"] == second["transfer"]
    )
    assert len(first["per_stage"]) == 4 and all(
        t >= 1 for stage in first["per_stage"] for t in stage
    )
    assert first["untouched"] and second["untouched"]


def test_all_ranks_find_the_same_schedule_which_is_no_longer_than_a_published_one(
    ranks,
):
    assert ranks[0]["csv"] == ranks[1]["csv"]
    assert ranks[0]["reached"] <= ranks[0]["published"]


def test_what_is_found_runs(ranks):
    for rank in ranks:
        assert rank["step"]["gradients"] == 0
        assert rank["step"]["kept"] == rank["step"]["predicted"]


def test_what_cannot_run_is_refused_with_a_reason():
    expected = [
        "PyTorch cannot run it: stage 0 is on devices 0 and 1",
        "sharding must be 'none'",
        r"has stages [0, 1] on this rank, but it was given [5]",
        "runtime must be auto, pytorch or ashlar",
        "has 3 devices",
        "step() needs the inputs",
        "has no 4 equal micro-batches",
        "has fused backwards",
    ]
    for rank in on_ranks("refused", 2):
        for found, words in zip(rank, expected):
            assert words in found
