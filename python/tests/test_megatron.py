"""A model of Megatron-Core under schedules of ours, bit for bit as under its own: gradients, and weights after Adam."""

import json
import pathlib
import subprocess
import sys

import ashlar_pp
import pytest
from ashlar_pp import Costs, catalog

pytest.importorskip("torch")
pytest.importorskip("megatron.core")

M = 4


def differences(tmp_path, ranks, *runs):
    work = tmp_path / "work.json"
    work.write_text(json.dumps(runs))
    script = pathlib.Path(__file__).with_name("megatron_rank.py")
    line = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={ranks}",
        str(script),
        str(work),
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=900, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def own(ranks=2, chunks=1, **more):
    return {"schedule": None, "ranks": ranks, "chunks": chunks} | more


def ours(schedule, **more):
    return {"schedule": ashlar_pp.emit(schedule, "json"), "ranks": 0} | more


def are_equal(answers):
    assert answers == [[0.0, 0.0]] * len(answers), answers


def test_gradients_are_those_of_megatron_for_all_placements(tmp_path):
    searched = ashlar_pp.search(ashlar_pp.looped(2, 2), M, Costs(10, 12, 9), budget=100).schedule
    schedules = [
        catalog.one_f_one_b(2, M),
        catalog.gpipe(2, M),
        catalog.zb_h1(2, M),
        catalog.depth_first(2, M),
        catalog.v_half(2, M),
    ]
    schedules += [catalog.hanayo(2, M), searched, searched | ashlar_pp.fuse_backwards()]
    answers = differences(
        tmp_path, 2, own(), own(chunks=2), *(ours(one, deallocate=bool(i % 2)) for i, one in enumerate(schedules))
    )
    are_equal(answers)


def test_uneven_layouts_and_delayed_weight_gradients(tmp_path):
    layout = "Et|tt|ttt|ttL"
    uneven = Costs(per_stage=[(12, 12, 10), (20, 20, 20), (30, 30, 30), (25, 30, 22)])
    answers = differences(
        tmp_path, 2, own(chunks=2, layout=layout), ours(catalog.depth_first(2, M, uneven), layout=layout),
        ours(catalog.zb_h1(2, M), delayed=True),
    )  # fmt: skip
    are_equal(answers)


@pytest.mark.parametrize("experts", [False, True])
def test_weights_after_steps_with_data_parallelism(tmp_path, experts):
    more = {"steps": 3, "deallocate": True, "experts": experts}
    # The distributed optimizer alone changes the order of a sum, of the norm that gradients are clipped by.
    runs = []
    for overlap, distributed, sync in ((False, False, False), (True, True, False), (True, True, True)):
        now = more | {"overlap": overlap, "distributed": distributed, "sync": sync}
        runs.append(own(compare_from_here=True, **now))
        names = ("one_f_one_b", "zb_h1", "v_half") if distributed else ("zb_h1",)
        runs += [ours(getattr(catalog, name)(2, M), **now) for name in names]
    are_equal(differences(tmp_path, 4, *runs, ours(catalog.depth_first(2, M), **now)))


def test_tied_embeddings(tmp_path):
    more = {"steps": 2, "tied": True, "overlap": True}
    runs = [own(**more), ours(catalog.one_f_one_b(2, M), **more), ours(catalog.zb_h1(2, M), **more)]
    # Several chunks change the order of the sum of the norm, for Megatron's own schedules, too.
    runs += [own(chunks=2, compare_from_here=True, **more), ours(catalog.depth_first(2, M), **more)]
    are_equal(differences(tmp_path, 2, *runs))
    with pytest.raises(AssertionError, match="share_embeddings_and_output_weights: Megatron sums"):
        differences(tmp_path, 2, ours(catalog.v_half(2, M), **more))


def test_what_cannot_run_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="the schedule is for 2 ranks and 4 micro-batches, not for 2"):
        differences(tmp_path, 2, ours(catalog.one_f_one_b(2, M), micro_batches=3))
    with pytest.raises(AssertionError, match="the schedule has copies of stages on several ranks"):
        differences(tmp_path, 2, ours(catalog.chimera(2, M)))


@pytest.mark.parametrize("name", sorted(catalog.vocabulary_entries))
def test_an_output_layer_in_shards_is_refused(name):
    from ashlar_pp.megatron import forward_backward

    with pytest.raises(ValueError, match="not a chain"):
        forward_backward(catalog.find(name)(2, 2))
