"""Every schedule of the catalog equals the whole model, in our runtime, and in
PyTorch's if that can run it.
"""

import pytest
from launching import on_ranks

import ashlar_pp

CLOSE = 1e-12
# Two chunks a sequence.
SEQUENCES_IN_CHUNKS = {"seq1f1b", "seq1f1b-interleaved"}
# Several ranks add to one gradient, or chunks of a sequence come in another order.
IN_ANOTHER_ORDER = SEQUENCES_IN_CHUNKS | {
    "gems",
    "chimera",
    "chimera-forward-doubling",
    "chimera-backward-halving",
    "bitpipe",
    "dualpipe",
}
# Weight gradients are added in another order than micro-batches come.
WEIGHTS_IN_ANOTHER_ORDER = {"stp", "looped-bfs"}
# PyTorch's runtime cannot run several routes, recomputes, chunks of sequences, no
# backwards, or one device.
OURS_ALONE = IN_ANOTHER_ORDER | {
    "1f1b-recompute",
    "inference",
    "depth-first-accumulation",
    "breadth-first-accumulation",
}


@pytest.fixture(scope="module", params=[2, 4], ids="p={}".format)
def results(request):
    """Results of each rank by schedule, micro-batches and runtime."""
    ranks = on_ranks("all_entries", request.param)
    return {tuple(key.split("/")): [rank[key] for rank in ranks] for key in ranks[0]}


def test_each_schedule_runs_wherever_it_can(results):
    ours, theirs = (
        {name for name, _, where in results if where == runtime}
        for runtime in ("ashlar", "pytorch")
    )
    assert ours == set(ashlar_pp.catalog.entries)
    assert theirs == ours - OURS_ALONE


def test_losses_are_those_of_the_whole_model(results):
    for key, ranks in results.items():
        expected = ranks[0]["expected_losses"]
        found = [loss for rank in ranks for loss in rank["losses"]]
        if key[0] in SEQUENCES_IN_CHUNKS:
            found = [sum(found[k : k + 2]) for k in range(0, len(found), 2)]
        if key[0] == "chimera-backward-halving":
            assert len(found) == 2 * int(key[1])
        assert sorted(found) == pytest.approx(sorted(expected), rel=CLOSE), key


def test_outputs_are_those_of_the_whole_model(results):
    for key, ranks in results.items():
        assert max(rank["outputs"] for rank in ranks) <= (
            CLOSE if key[0] in SEQUENCES_IN_CHUNKS else 0
        ), key


def test_gradients_are_those_of_the_whole_model(results):
    for key, ranks in results.items():
        most = max(rank["gradients"] for rank in ranks)
        assert most <= (
            CLOSE if key[0] in IN_ANOTHER_ORDER | WEIGHTS_IN_ANOTHER_ORDER else 0
        ), key


def test_memory_is_what_was_predicted(results):
    for key, ranks in results.items():
        for rank in ranks:
            assert rank["left"] == 0, key
            if "predicted" in rank:
                assert rank["kept"] == rank["predicted"], key
