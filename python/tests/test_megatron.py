"""A model of Megatron-Core has the same bits under our schedules as under its own:
gradients, and weights after Adam.
"""

import json
import pathlib
import re
import subprocess
import sys
import types

import pytest

import ashlar_pp
from ashlar_pp import Costs, catalog

pytest.importorskip("torch")
pytest.importorskip("megatron.core")

M = 4


def run(tmp_path, ranks, *runs):
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
    return subprocess.run(
        line, capture_output=True, text=True, timeout=900, cwd=tmp_path
    )


def differences(tmp_path, ranks, *runs):
    done = run(tmp_path, ranks, *runs)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_blocks_of_the_page_run():
    page = (
        pathlib.Path(__file__).resolve().parents[2] / "docs" / "megatron.md"
    ).read_text()
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        if "megatron.training" not in block:  # part of Megatron-LM's repository
            exec(block, names)
    assert callable(names["run"]) and callable(names["chunks_of"])


def own(ranks=2, chunks=1, **more):
    return {"schedule": None, "ranks": ranks, "chunks": chunks} | more


def ours(schedule, **more):
    return {"schedule": ashlar_pp.emit(schedule, "json"), "ranks": 0} | more


def are_equal(answers):
    assert answers == [[0.0, 0.0]] * len(answers), answers


def test_gradients_are_those_of_megatron_for_all_placements(tmp_path):
    searched = ashlar_pp.search(
        ashlar_pp.looped(2, 2), M, Costs(10, 12, 9), budget=100
    ).schedule
    schedules = [
        catalog.one_f_one_b(2, M),
        catalog.gpipe(2, M),
        catalog.zb_h1(2, M),
        catalog.depth_first(2, M),
        catalog.v_half(2, M),
        catalog.find("combined-1f1b")(2, M),
    ]
    schedules += [catalog.hanayo(2, M), searched, searched | ashlar_pp.fuse_backwards()]
    runs = [
        own(),
        own(chunks=2),
        *(ours(one, deallocate=bool(i % 2)) for i, one in enumerate(schedules)),
    ]
    first = {
        "frozen": ["embedding", *(f"decoder.layers.{i}." for i in range(4))]
    }  # the first stages have nothing to train
    runs += [
        own(compare_from_here=True, **first),
        ours(catalog.zb_h1(2, M), **first),
        ours(catalog.v_half(2, M), **first),
    ]
    are_equal(differences(tmp_path, 2, *runs))


def test_uneven_layouts_and_delayed_weight_gradients(tmp_path):
    layout = "Et|tt|ttt|ttL"
    uneven = Costs(per_stage=[(12, 12, 10), (20, 20, 20), (30, 30, 30), (25, 30, 22)])
    answers = differences(
        tmp_path,
        2,
        own(chunks=2, layout=layout),
        ours(catalog.depth_first(2, M, uneven), layout=layout),
        ours(catalog.zb_h1(2, M), delayed=True),
    )
    are_equal(answers)


def test_layers_are_those_of_the_layout_in_every_placement(tmp_path):
    """Compares numbers, experts and rotary embeddings of layers, and their names in a
    checkpoint; others are refused.
    """
    pattern = [0, 1, 1, 0, 1, 0, 0, 1]
    v, loop, uneven = catalog.v_half(2, M), catalog.depth_first(2, M), "Et|tttt|t|ttL"
    runs = [own()]
    runs += [
        ours(v, layout="E|tttt|ttt|tL"),
        ours(catalog.zb_h1(2, M), layout="Ettt|tttttL"),
    ]
    runs += [
        own(compare_from_here=True, pattern=pattern),
        ours(v, pattern=pattern),
        ours(v, pattern=pattern, layout=uneven),
    ]
    runs += [ours(loop, pattern=pattern, layout=uneven)]
    refused = [
        ours(v, by_hand="places", layout=uneven),
        ours(v, by_hand="specs", pattern=pattern),
    ]
    refused += [ours(catalog.one_f_one_b(2, M), wrap=True)]
    answers = differences(
        tmp_path, 2, *runs, *(one | {"refused": True} for one in refused)
    )
    are_equal(answers[: len(runs)])
    places, specs, wrapped = answers[len(runs) :]
    assert (
        "decoder of stage 2 has layers 7, 8, and layer 6 comes next. Build them with "
        "ashlar_pp.megatron.chunks_of" in places
    )
    assert "layer 5 lacks experts, against moe_layer_freq. Build them with" in specs
    assert "a chunk is in torch's DistributedDataParallel" in wrapped


@pytest.mark.parametrize("experts", [False, True])
def test_weights_after_steps_with_data_parallelism(tmp_path, experts):
    more = {"steps": 3, "deallocate": True, "experts": experts}
    # The distributed optimizer by itself changes the order of a sum, in the norm by
    # which gradients are clipped.
    runs = []
    for overlap, distributed, sync in (
        (False, False, False),
        (True, True, False),
        (True, True, True),
    ):
        now = more | {"overlap": overlap, "distributed": distributed, "sync": sync}
        runs.append(own(compare_from_here=True, **now))
        names = ("one_f_one_b", "zb_h1", "v_half") if distributed else ("zb_h1",)
        runs += [ours(getattr(catalog, name)(2, M), **now) for name in names]
    are_equal(differences(tmp_path, 4, *runs, ours(catalog.depth_first(2, M), **now)))


def test_tied_embeddings(tmp_path):
    more = {"steps": 2, "tied": True, "overlap": True}
    runs = [
        own(**more),
        ours(catalog.one_f_one_b(2, M), **more),
        ours(catalog.zb_h1(2, M), **more),
    ]
    # Several chunks change the order of the sum of the norm, for Megatron's own
    # schedules, too.
    runs += [
        own(chunks=2, compare_from_here=True, **more),
        ours(catalog.depth_first(2, M), **more),
    ]
    more["clip"] = 0.0
    runs += [own(compare_from_here=True, **more), ours(catalog.v_half(2, M), **more)]
    are_equal(differences(tmp_path, 2, *runs))


def test_gradients_with_prediction_of_several_tokens(tmp_path):
    more = {"mtp": 1, "scale": 8}
    named = [
        getattr(catalog, name)(2, M)
        for name in ("one_f_one_b", "zb_h1", "depth_first", "v_half")
    ]
    runs = [
        own(**more),
        own(chunks=2, **more),
        ours(catalog.zb_h1(2, M), delayed=True, **more),
    ]
    runs += [ours(one, deallocate=bool(i % 2), **more) for i, one in enumerate(named)]
    more["mtp"] = 2
    runs += [own(compare_from_here=True, **more)] + [
        ours(one, **more) for one in named[1:]
    ]
    are_equal(differences(tmp_path, 2, *runs))


def test_prediction_of_several_tokens_on_a_stage_of_its_own(tmp_path):
    more = {"mtp": 2, "layers": 6, "micro_batches": 6}
    runs = [own(3, **more)]
    for layout in ("Ettt|tttmm|L", "Etttttt|mm|L"):
        now = more | {"layout": layout}
        runs += [
            own(3, **now),
            ours(catalog.one_f_one_b(3, 6), **now),
            ours(catalog.zb_h1(3, 6), deallocate=True, **now),
        ]
    for layout in ("Et|t|tt|tt|mm|L", "Et|tt|tt|tmm||L"):
        now = more | {"layout": layout}
        runs += [own(3, 2, **now), ours(catalog.depth_first(3, 6), **now)]
    are_equal(differences(tmp_path, 3, *runs))


def test_weights_after_steps_with_prediction_of_several_tokens(tmp_path):
    more = {"steps": 2, "mtp": 1, "overlap": True, "distributed": True, "clip": 0.0}
    runs = []
    # Megatron's schedules cannot overlap reductions with tied embeddings and MTP: no
    # backward reaches the output weights.
    for now in (more, more | {"tied": True, "overlap": False}):
        runs += [own(compare_from_here=True, **now)]
        runs += [
            ours(getattr(catalog, name)(2, M), **now)
            for name in ("zb_h1", "depth_first", "v_half")
        ]
    are_equal(differences(tmp_path, 4, *runs))


def test_embeddings_of_prediction_on_other_ranks(tmp_path):
    more = {"steps": 1, "mtp": 1, "layers": 6, "gradients": True}
    runs = []
    for tied in (False, True):
        now = more | {"tied": tied, "layout": "Ettt|tttm|L"}
        runs += [
            own(3, compare_from_here=True, **now),
            ours(catalog.zb_h1(3, M), **now),
        ]
    are_equal(differences(tmp_path, 3, *runs))


def test_what_megatron_takes_from_the_last_rank_alone(tmp_path):
    """Tries the number of tokens, and embeddings of MTP, in a V and on the first rank,
    where Megatron's gradients lack a part.
    """
    more = {"steps": 1, "gradients": True, "per_token": True}
    runs = [own(**more)] + [
        ours(getattr(catalog, name)(2, M), **more) for name in ("zb_h1", "v_half")
    ]
    more["mtp"] = 1
    on_first = ours(catalog.depth_first(2, M), layout="Ett|ttt|tttm|L", **more)
    runs += [
        own(compare_from_here=True, **more),
        ours(catalog.v_half(2, M), **more),
        on_first,
    ]
    are_equal(differences(tmp_path, 2, *runs))


@pytest.mark.parametrize(
    "end, why",
    [
        (
            "raises",
            r"rank 1 failed at 1F2: KeyError: 'no label' \(megatron_rank.py:\d+ in "
            r"raise_an_error\)",
        ),
        (
            "sleeps",
            r"rank 1 hangs at 1F2, since .* s \(megatron_rank.py:\d+ in <lambda>\): it "
            r"has not sent the gradient",
        ),
    ],
)
def test_one_rank_ends_all_and_all_say_why(tmp_path, end, why):
    done = run(tmp_path, 2, ours(catalog.one_f_one_b(2, M), end=end, minutes=8 / 60))
    assert done.returncode != 0
    assert re.search(f"LostRank: {why}", done.stderr), done.stderr[-4000:]


def test_what_cannot_run_is_refused(tmp_path):
    with pytest.raises(
        AssertionError,
        match="the schedule is for 2 ranks and 4 micro-batches, not for 2",
    ):
        differences(tmp_path, 2, ours(catalog.one_f_one_b(2, M), micro_batches=3))
    with pytest.raises(
        AssertionError, match="the schedule has copies of stages on several ranks"
    ):
        differences(tmp_path, 2, ours(catalog.chimera(2, M)))


def test_chunks_that_are_not_the_model_are_refused():
    from megatron.core.transformer.pipeline_parallel_layer_layout import (
        PipelineParallelLayerLayout,
    )

    from ashlar_pp.megatron.layers import Held, fault_of

    def words(*stages, layout=None, mtp=None, ends=True, copies=(), **config):
        held = []
        for stage, numbers in enumerate(stages):
            names = [
                f"decoder.layers.{n}.{inner}"
                for n in numbers
                for inner in (
                    "mlp.linear_fc1.weight",
                    "self_attention.linear_qkv.weight",
                )
            ]
            names += ["output_layer.weight"] * (stage == len(stages) - 1) + [
                "embedding.word_embeddings.weight"
            ] * (stage == 0)
            names += copies if stage else []
            has = {
                "the embedding": stage == 0,
                "the output layer": stage == len(stages) - 1,
                "MTP": stage == mtp,
            }
            held.append(
                Held(
                    {"decoder": (numbers, 4)},
                    {name: ((2,), True) for name in names},
                    has if ends else {},
                )
            )
        known = {
            "num_layers": 4,
            "mtp_num_layers": None,
            "pipeline_model_parallel_layout": None,
        }
        if layout:
            known["pipeline_model_parallel_layout"] = PipelineParallelLayerLayout(
                layout, 2
            )
        return fault_of(held, types.SimpleNamespace(**known | config))

    assert (
        words([1], [2, 3], [], [4])
        == words([1], [2, 3], [], [4], layout="Et|tt||tL")
        == words([1, 2, 3, 4])
        == ""
    )
    # not a model of Megatron's
    assert fault_of([Held(), Held()], types.SimpleNamespace()) == ""
    assert (
        words([1, 2], [4, 3])
        == "decoder of stage 1 has layers 4, 3, and layer 3 comes next"
    )
    assert (
        words([1, 2], [2, 3, 4])
        == "decoder of stage 1 has layers 2, 3, 4, and layer 3 comes next"
    )
    assert (
        words([1, 2], [3])
        == "decoder has layers 1 to 3 in all stages, and the model has 4"
    )
    assert (
        words([1, 2, 3], [4, 5])
        == "decoder of stage 1 has layers 4, 5, and the model has 4"
    )
    assert (
        words([1, 2], [3, 4], layout="Et|tttL")
        == "stage 0 has 2 layers, and the layout Et|tttL gives it 1"
    )
    assert (
        words([1, 2], [3, 4], layout="Et|t|t|tL")
        == "the layout Et|t|t|tL has 4 stages, and the schedule 2"
    )
    assert words([1, 2], [3, 4], mtp=1) == "MTP is in stages [1], and belongs in none"
    assert (
        words([1, 2], [3, 4], mtp_num_layers=1)
        == "MTP is in stages [], and belongs in stage 1"
    )
    assert words([1, 2], [3, 4], copies=["embedding.word_embeddings.weight"]) == ""
    assert (
        words([1, 2], [3, 4], [], copies=["x.weight"])
        == "x.weight is on stages 1, 2, and belongs on stage 1"
    )
    assert (
        words([1, 2], [3, 4], num_moe_experts=2, moe_layer_freq=[0, 0, 0, 1])
        == "layer 4 lacks experts, against moe_layer_freq"
    )
    assert (
        words([1, 2], [3, 4], num_moe_experts=2, moe_layer_freq=2)
        == "layer 1 lacks experts, against moe_layer_freq"
    )
    assert "layer 1 lacks linear attention, against linear" in words(
        [1, 2], [3, 4], linear_attention_freq=2
    )
    part = types.SimpleNamespace(no_op=False, replace_with_linear=False)
    blocks = [types.SimpleNamespace(attention=part, mlp=part) for _ in range(4)]
    blocks[2].mlp = types.SimpleNamespace(no_op=True, replace_with_linear=False)
    found = words(
        [1, 2], [3, 4], heterogeneous_block_specs=True, per_block_parameters=blocks
    )
    assert found == "layer 3 has an MLP, against heterogeneous_block_specs"


def test_a_lost_gradient_is_named_and_one_that_layers_add_themselves_counts():
    import torch

    from ashlar_pp.torch.first_step import FirstStep

    p = torch.nn.Parameter(torch.ones(2))
    module = torch.nn.ParameterDict({"weight": p})
    for arrived in (True, False):
        first = FirstStep({3: module}, lambda _, arrived=arrived: arrived)
        first.forward(3, p * 2)
        first.look(3)
        assert first._missing == {3: [] if arrived else [("weight of stage 3", True)]}


def test_options_that_walk_twice_are_refused():
    from ashlar_pp.megatron.supported import must_support

    config = types.SimpleNamespace(
        recompute_granularity=None,
        gradient_accumulation_fusion=True,
        delay_wgrad_compute=False,
    )
    must_support(config, None, False)
    with pytest.raises(
        ValueError,
        match="gradient_accumulation_fusion does not go with split backwards",
    ):
        must_support(config, None, True)
    config.delay_wgrad_compute = True
    must_support(config, None, True)
    config.cuda_graph_impl = "local"
    with pytest.raises(ValueError, match="cuda_graph_impl is not supported"):
        must_support(config, None, False)


def test_embeddings_of_one_rank_start_equal():
    import torch

    from ashlar_pp.megatron import share_embeddings
    from ashlar_pp.megatron.embeddings import must_be_equal

    def chunk(value, **more):
        weight = torch.full((2, 2), float(value))
        return types.SimpleNamespace(
            shared_embedding_or_output_weight=lambda: weight, **more
        )

    chunks = [
        chunk(1, pre_process=True),
        chunk(2),
        chunk(3, post_process=True),
        chunk(4, mtp_process=True),
    ]
    with pytest.raises(
        ValueError, match="the word embeddings on this rank differ: call"
    ):
        must_be_equal(chunks)
    share_embeddings(chunks)
    must_be_equal(chunks)
    assert [float(one.shared_embedding_or_output_weight()[0, 0]) for one in chunks] == [
        1,
        2,
        3,
        1,
    ]
    share_embeddings(chunks[1:3])  # nothing to share


def test_embeddings_that_no_one_sums_are_refused(monkeypatch):
    from megatron.core.transformer.pipeline_parallel_layer_layout import (
        PipelineParallelLayerLayout,
    )

    from ashlar_pp.megatron.embeddings import are_on_one_rank
    from ashlar_pp.megatron.programs import forwards

    def asked(route, mtp, tied, layout=None, groups=None):
        config = types.SimpleNamespace(
            mtp_num_layers=mtp,
            finalize_model_grads_func=groups and print,
            pipeline_model_parallel_layout=layout
            and PipelineParallelLayerLayout(layout, max(route) + 1),
        )
        return are_on_one_rank(
            forwards(ashlar_pp.Placement([route]), M), config, groups, tied
        )

    assert (
        not asked([0, 1, 0, 1], None, False)
        and not asked([0, 1, 0, 1], 1, True)
        and not asked([0, 1, 1, 0], None, False)
    )
    assert asked([0, 1, 1, 0], None, True) and asked([0, 1, 1, 0], 1, False)
    assert asked([0, 1, 0, 1], 1, False, "Et|t|tm|L") and asked(
        [0, 1, 1, 0], 1, True, "Et|t|t|tmL"
    )
    with pytest.raises(
        ValueError,
        match=(
            r"share_embeddings_and_output_weights: stages \[0, 1\] have .* on ranks "
            r"\[1, 0\]"
        ),
    ):
        asked([1, 0], None, True)
    with pytest.raises(
        ValueError,
        match=r"and mtp_num_layers: stages \[0, 2, 3\] have .* on ranks \[0, 0, 1\]",
    ):
        asked([0, 1, 0, 1], 1, True, "Et|t|tm|L")
    with pytest.raises(
        ValueError,
        match=(
            "looks for the hidden states of stage 2, which has MTP, .* on rank 0, .* "
            "on rank 1"
        ),
    ):
        asked([0, 1, 1, 0], 1, False, "Et|t|tm|L")
    of_three = {
        "get_process_group_ranks": lambda group: group,
        "get_global_rank": lambda _, rank: rank,
    }
    monkeypatch.setattr(
        "ashlar_pp.megatron.embeddings.dist", types.SimpleNamespace(**of_three)
    )
    groups = types.SimpleNamespace(
        pp=types.SimpleNamespace(rank=lambda: 0), embd=[0, 2]
    )
    with pytest.raises(
        ValueError,
        match=r"mtp_num_layers: ranks \[0, 1\] have the .* over ranks \[0, 2\]: give",
    ):
        asked([0, 1, 2], 1, False, "Ett|tm|L", groups)
    groups.embd = [0, 1]
    assert not asked([0, 1, 2], 1, False, "Ett|tm|L", groups)


@pytest.mark.parametrize("name", sorted(catalog.vocabulary_entries))
def test_an_output_layer_in_shards_is_refused(name):
    from ashlar_pp.megatron import forward_backward

    with pytest.raises(ValueError, match="not a chain"):
        forward_backward(catalog.find(name)(2, 2))
