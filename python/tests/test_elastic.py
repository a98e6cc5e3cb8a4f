"""A training that was saved on some ranks goes on, on others, with equal numbers."""

import pytest
from launching import on_ranks


def from_elastic(function, world, given):
    return on_ranks(function, world, given, script="elastic_ranks.py")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a checkpoint of four ranks, and their losses after it."""
    folder = str(tmp_path_factory.mktemp("elastic"))
    losses = from_elastic("saves", 4, folder)
    assert losses == [losses[0]] * 4 and len(set(losses[0])) == 3
    return folder, losses[0]


@pytest.mark.parametrize(
    "world, schedule",
    [(2, "1f1b"), (3, "1f1b"), (2, "depth-first"), (3, "depth-first")],
)
def test_a_training_goes_on_with_other_ranks(saved, world, schedule):
    folder, losses = saved
    everyone = from_elastic("resumes", world, [folder, schedule])
    for found in everyone:
        assert found["losses"] == pytest.approx(losses, rel=1e-14, abs=0)
        assert found["off"] <= 1e-14
        assert found["rate"] == 0.05 * 0.5**3
    names = {name for found in everyone for name in found["names"]}
    assert {f"layers.{k}.0.weight" for k in range(7)} < names
    assert {f"layers.{k}.3.num_batches_tracked" for k in range(7)} < names
    assert all(0 < len(found["layers"]) < 7 for found in everyone)


def test_a_model_of_several_ranks_is_saved_whole(tmp_path):
    pytest.importorskip("transformers")
    for found in from_elastic("pretrained", 3, str(tmp_path)):
        for name, case in found.items():
            if name.endswith("of a rank"):
                assert "pipe.whole_state_dict() gathers it" in case
                continue
            loaded, piped, before = case
            assert loaded == pytest.approx(piped, rel=1e-6)
            assert abs(before - piped) > 1e-3
