"""The algebra as Python sees it."""

import pathlib
import re
import signal
import threading
import time

import pytest

import ashlar_pp
from ashlar_pp import Costs, catalog, lower, repeat, retime, simulate, squeeze


def test_a_block_is_piped_to_a_schedule():
    schedule = catalog.v_half(devices=4) | repeat(8) | squeeze()
    assert (schedule.devices, schedule.stages, schedule.micro_batches) == (4, 8, 8)
    assert schedule.makespan == max(one.end for line in schedule.order for one in line)
    assert schedule.peak_activations == [6, 6, 6, 6]
    assert schedule == catalog.v_half(devices=4) | (repeat(8) | squeeze())
    assert squeeze()(schedule) == schedule
    schedule.check()
    (schedule | lower()).check()


def test_an_entry_with_micro_batches_is_a_schedule_under_its_costs():
    costs = Costs(2, 3, 1, transfer=1)
    schedule = catalog.one_f_one_b(4, 8, costs)
    assert schedule.costs == costs
    assert schedule == catalog.one_f_one_b(4) | repeat(8) | retime(costs)
    assert catalog.entries["1f1b"](4, 8, costs) == schedule
    assert {"v_half", "one_f_one_b_recompute", "seq1f1b"} <= set(dir(catalog))


def test_parameters_are_those_that_an_entry_has():
    assert catalog.depth_first(4, 8, chunks=3).stages == 12
    with pytest.raises(TypeError, match="1f1b has no parameter 'chunks'"):
        catalog.one_f_one_b(4, 8, chunks=3)
    with pytest.raises(TypeError, match="has all micro-batches"):
        catalog.gpipe(4)
    assert catalog.gpipe.block(4, 8) | repeat(8) | squeeze() == catalog.gpipe(4, 8)
    with pytest.raises(ValueError, match="must be one of 'code', 'figure'"):
        catalog.bitpipe(4, 8, junction="other")
    with pytest.raises(ValueError, match="devices must be from 1 to 1024"):
        catalog.one_f_one_b(0, 8)
    with pytest.raises(ValueError, match="did you mean '1f1b'"):
        catalog.find("1f1c")
    with pytest.raises(AttributeError, match="has no 'v_haf'"):
        _ = catalog.v_haf


def test_a_broken_rule_is_an_exception_with_its_sentence():
    early = catalog.v_half(4) | ashlar_pp.with_interval(3) | repeat(3)
    with pytest.raises(
        ashlar_pp.Violation, match="on device 3 at position 10 overlaps"
    ) as caught:
        early.check()
    assert caught.value.rule == "passes of one device must not overlap in time"
    assert (caught.value.device, caught.value.position) == (3, 10)
    with pytest.raises(
        ashlar_pp.Violation, match="number of micro-batches must be at least 8"
    ) as caught:
        catalog.dualpipe(4, 5)
    assert caught.value.number == 8 and caught.value.device is None


def test_costs_and_bounds():
    schedule = catalog.one_f_one_b(4, 8)
    least = schedule.bound()
    assert least.makespan == schedule.makespan  # 1F1B with equal passes is optimal
    uneven = Costs(per_stage=[(1, 1, 1), (1, 1, 1), (1, 1, 1), (4, 4, 4)])
    assert (schedule | retime(uneven)).busy == [24, 24, 24, 96]
    assert uneven.per_stage[3] == (4, 4, 4)


def test_backwards_are_fused_where_that_is_free():
    costs = Costs(2, 3, 3, transfer=1)
    split = catalog.v_zb(4, 8, costs)
    fused = split | ashlar_pp.fuse_where_free()
    fused.check()
    kinds = [one.kind for line in fused.order for one in line]
    assert 0 < kinds.count("backward_input") == kinds.count("backward_weight") < 64
    assert kinds.count("backward") + kinds.count("backward_weight") == 64
    assert fused.makespan <= split.makespan and fused.span <= split.span
    assert all(a <= b for a, b in zip(fused.peak_activations, split.peak_activations))
    assert fused.costs == costs


def test_all_backwards_are_fused():
    split = catalog.v_zb(4, 8)
    fused = split | ashlar_pp.fuse_backwards()
    fused.check()
    assert {one.kind for line in fused.order for one in line} == {"forward", "backward"}
    assert fused.makespan > split.makespan
    assert split | ashlar_pp.fuse_backward() == fused
    for name in ("stp", "chimera"):  # pairs, and two routes
        (catalog.find(name)(4, 8) | ashlar_pp.fuse_where_free()).check()


def test_simulation_has_time_and_memory():
    schedule = catalog.one_f_one_b(4, 8)
    run = (
        schedule
        | lower()
        | simulate(Costs(), [ashlar_pp.StageMemory(stash=10, weights=100)])
    )
    assert run.makespan == schedule.makespan
    assert [d.peak for d in run.memory] == [140, 130, 120, 110]
    assert all(
        u.busy + u.warm_up + u.steady + u.cool_down + u.exposed == run.makespan
        for u in run.usage
    )
    slow = schedule | lower() | simulate(Costs(transfer=5))
    assert slow.makespan > run.makespan


def test_micro_batches_may_keep_different_amounts():
    schedule = catalog.one_f_one_b(4, 8)
    stage = [
        ashlar_pp.StageMemory(stash=stash, weights=100)
        for stash in (10, 10, 10, 40, 10, 10, 10, 10)
    ]
    alike = [ashlar_pp.StageMemory(stash=10, weights=100)]
    run = schedule | lower() | simulate(Costs(), [stage])
    assert (
        [d.peak for d in run.memory]
        == [170, 160, 150, 140]
        == schedule.peak_memory([stage] * 4)
    )
    assert schedule.peak_memory(alike) == schedule.peak_memory([alike * 8])
    tight = ashlar_pp.search(
        ashlar_pp.linear(4), 8, limit=140, memory=[stage], budget=50
    )
    assert max(tight.schedule.peak_memory([stage])) <= 140
    with pytest.raises(
        ashlar_pp.Violation, match="micro-batches that have sizes of their own"
    ):
        schedule.peak_memory([stage[:7]])
    with pytest.raises(ValueError, match="a list by micro-batch"):
        schedule.peak_memory([stage, alike[0], alike[0], alike[0]])


def test_schedules_side_by_side():
    table = ashlar_pp.compare(["1f1b", "zb-h1"], devices=4, micro_batches=8)
    assert [row["schedule"] for row in table.rows] == ["1f1b", "zb-h1"]
    assert table.rows[0]["makespan"] > table.rows[1]["makespan"]
    assert (
        str(table).splitlines()[1].startswith("1f1b")
        and "<td>zb-h1</td>" in table._repr_html_()
    )
    own = ashlar_pp.compare({"mine": catalog.zb_h1(4, 8)}, devices=4, micro_batches=8)
    assert own.rows[0]["makespan"] == table.rows[1]["makespan"]
    assert len(ashlar_pp.compare(devices=4, micro_batches=8).rows) > 20
    with pytest.raises(ashlar_pp.Violation):
        ashlar_pp.compare(["dualpipe"], devices=3, micro_batches=8)
    frame = pytest.importorskip("pandas") and table.frame()
    assert frame.loc["zb-h1", "overhead"] == table.rows[1]["overhead"]


def test_the_package_has_types():
    home = pathlib.Path(ashlar_pp.__file__).parent
    stub = (home / "_core.pyi").read_text()
    assert (home / "py.typed").exists() and ashlar_pp.__version__
    for name, value in vars(ashlar_pp._core).items():
        if not name.startswith("_"):
            assert re.search(rf"^(class|def|    def)? ?{name}\b", stub, re.MULTILINE), (
                name
            )
            assert (
                not callable(value)
                or value.__doc__
                or name.startswith(("compare_", "search_"))
            ), name


def test_pictures_and_files():
    schedule = catalog.zb_h1(3, 4)
    assert schedule._repr_svg_().startswith("<svg") and catalog.zb_h1(
        3
    )._repr_svg_().startswith("<svg")
    assert (
        schedule.svg(title="a title", memory=True, dark=True) != schedule._repr_svg_()
    )
    assert "device 2" in schedule.text()
    assert ashlar_pp.emit(schedule, "html").startswith(
        "<!"
    ) and '"makespan"' in ashlar_pp.emit(schedule, "json")
    text = ashlar_pp.emit(schedule, "pytorch")
    assert ashlar_pp.read_pytorch(text) == schedule
    assert (
        ashlar_pp.read_pytorch_program(
            ashlar_pp.emit(schedule, "pytorch-comms")
        ).devices
        == 3
    )
    with pytest.raises(
        ValueError, match="PyTorch cannot run it: stage 0 is on devices"
    ):
        ashlar_pp.emit(catalog.chimera(4, 4), "pytorch-comms")
    with pytest.raises(ValueError, match="format must be one of"):
        ashlar_pp.emit(schedule, "pdf")
    with pytest.raises(ValueError, match="line 1, column 5"):
        ashlar_pp.read_pytorch("0F0,0Q0\n")


def test_a_search_ends_at_its_bound_and_tells_how_far_it_is():
    found = ashlar_pp.search(ashlar_pp.linear(4), 8, Costs(10, 12, 8), budget=1000)
    assert found.is_optimal and found.gap == 0
    assert found.schedule.span == found.reached == found.bound
    assert repr(found).endswith(
        f" {found.reached:.0f} ticks, no less than {found.bound:.0f}>"
    )
    told = []
    harder = ashlar_pp.search(
        ashlar_pp.wave(4, 2),
        16,
        Costs(10, 13, 8, transfer=1),
        budget=3000,
        progress=lambda *a: told.append(a),
    )
    assert told and told == sorted(told, key=lambda one: one[1])
    assert harder.schedule.peak_activations <= [16] * 4
    again = ashlar_pp.search(
        ashlar_pp.wave(4, 2), 16, Costs(10, 13, 8, transfer=1), budget=3000
    )
    assert again.schedule == harder.schedule
    with pytest.raises(ashlar_pp.Violation, match="must be at least 2"):
        ashlar_pp.search(ashlar_pp.v_shape(4), 8, limit=1)


def test_layouts_are_searched_together():
    found = ashlar_pp.search_layouts(4, 8, Costs(10, 12, 8, transfer=1), budget=500)
    assert {one.layout for one in found} == {"linear", "v", "looped", "wave"}
    assert found[0].reached == min(one.reached for one in found)
    with pytest.raises(ValueError, match="no schedule within the limit"):
        ashlar_pp.search_layouts(4, 8, memory_percent=1)


def test_later_chunks_attend_to_more():
    whole = Costs(20, 26, 14, transfer=1)
    each, unit = whole.with_causal_chunks(2, (30, 46))
    assert (unit, each.sequence_chunks, each.transfer) == (100, 2, 100)
    assert each.per_stage == [(1700, 2002, 1400), (2300, 3198, 1400)]
    assert whole.with_causal_chunks(2, 50) == whole.with_causal_chunks(2, (50, 50))
    assert whole.with_causal_chunks(4, 0) == (whole, 1)
    with pytest.raises(ValueError, match="causal must be from 0 to 100, not 101"):
        whole.with_causal_chunks(2, (3, 101))
    with pytest.raises(ashlar_pp.Violation, match="costs of their own are 2, not 1"):
        each.with_causal_chunks(2, 3)


def test_layouts_are_searched_with_causal_attention():
    # `ashlar search -p 4 -m 8 --forward 20 --backward-input 26 --backward-weight 14
    # --budget 50` finds the same.
    whole = Costs(20, 26, 14)
    found = ashlar_pp.search_layouts(
        4, 8, whole, sequence_chunks=4, causal=(30, 46), budget=50
    )
    linear = {
        one.sequence_chunks: one.reached for one in found if one.layout == "linear"
    }
    assert linear == {1: 576, 2: 646.33, 4: 629.3925}
    # Costs of each chunk give the same: here 200 ticks to one.
    each, unit = whole.with_causal_chunks(2, (30, 46))
    same = ashlar_pp.search_layouts(4, 8, each, budget=50)
    cut = ashlar_pp.search_layouts(
        4, 8, whole, sequence_chunks=2, causal=(30, 46), budget=50
    )
    assert [one.reached / (2 * unit) for one in same] == [one.reached for one in cut]
    assert any(
        one.sequence_chunks == 2 and one.schedule.costs == each
        for one in same
        if one.layout == "linear"
    )
    with pytest.raises(
        ValueError, match="causal has no effect without sequence_chunks"
    ):
        ashlar_pp.search_layouts(4, 8, whole, causal=30)
    with pytest.raises(
        ValueError, match="causal has no effect on costs that are given for each chunk"
    ):
        ashlar_pp.search_layouts(4, 8, each, causal=30)
    with pytest.raises(
        ValueError, match="of 2 chunks of a sequence, but sequence_chunks is 4"
    ):
        ashlar_pp.search_layouts(4, 8, each, sequence_chunks=4)
    with pytest.raises(ValueError, match="one for all, or one for each chunk"):
        ashlar_pp.search_layouts(4, 8, Costs(per_stage=[(1, 1, 1)] * 4))


def test_costs_of_each_chunk_reach_everything():
    each, unit = Costs(20, 26, 14).with_causal_chunks(2, (30, 46))
    schedule = catalog.seq1f1b(4, 8, each)
    assert schedule.costs == each and schedule.busy == [8 * 2 * unit * 60] * 4
    assert schedule == catalog.seq1f1b(4) | repeat(16) | retime(each)
    assert (schedule | lower() | simulate(each)).makespan == schedule.makespan
    orders = [[str(one) for one in line] for line in schedule.order]
    assert (
        ashlar_pp.schedule(schedule.placement, orders, each, sequence_chunks=2).makespan
        == schedule.makespan
    )
    text = ashlar_pp.emit(schedule, "json")
    assert ashlar_pp.emit(ashlar_pp.read_json(text), "json") == text
    found = ashlar_pp.search(ashlar_pp.linear(4), 8, each, budget=50)
    assert (
        found.sequence_chunks == 2 and found.bound <= found.reached <= schedule.makespan
    )
    with pytest.raises(
        ashlar_pp.Violation, match="costs of their own are 2, not 1 or 4"
    ):
        catalog.seq1f1b(4, 8, each, sequence_chunks=4)


def test_costs_of_each_micro_batch_reach_everything():
    each = Costs(
        per_stage=[(1, 1, 1), (1, 1, 1), (4, 4, 4), (2, 2, 2)], micro_batches=4
    )
    assert each.micro_batches == 4 and Costs().micro_batches is None
    schedule = catalog.zb_h1(2, 4, each)
    assert schedule.busy == [3 * 8] * 2
    assert (schedule | lower() | simulate(each)).makespan == schedule.makespan
    text = ashlar_pp.emit(schedule, "json")
    assert ashlar_pp.emit(ashlar_pp.read_json(text), "json") == text
    found = ashlar_pp.search(ashlar_pp.linear(2), 4, each, budget=50)
    assert found.bound <= found.reached <= schedule.makespan
    with pytest.raises(
        ashlar_pp.Violation, match="costs of their own are 4, not 1 or 3"
    ):
        catalog.zb_h1(2, 3, each)
    with pytest.raises(
        ValueError, match="either the chunks of sequences differ or micro-batches do"
    ):
        Costs(per_stage=[(1, 1, 1)] * 4, micro_batches=4, sequence_chunks=2)


def test_passes_may_take_no_time_and_links_may_be_exceptions():
    frozen = catalog.one_f_one_b(2, 4, Costs(1, 1, 0))
    assert frozen.makespan == 4 * 2 + 2
    slow = Costs(transfer=1, levels=[(2, 3)], links=[(0, 1, 5)])
    schedule = catalog.zb_h1(4, 2, slow)
    text = ashlar_pp.emit(schedule, "json")
    again = ashlar_pp.read_json(text)
    assert again.makespan == schedule.makespan and ashlar_pp.emit(again, "json") == text


def test_comparisons_with_causal_attention():
    # `ashlar compare seq1f1b 1f1b -p 4 -m 8 --sequence-chunks 4 --causal 30,46` prints
    # the same.
    whole = Costs(20, 26, 14)
    rows = ashlar_pp.compare(
        ["seq1f1b", "1f1b"], costs=whole, sequence_chunks=4, causal=(30, 46)
    ).rows
    assert [row["makespan"] for row in rows] == [629.3925, 660]
    each, unit = whole.with_causal_chunks(4, (30, 46))
    same = ashlar_pp.compare(
        {"seq1f1b": "seq1f1b", "own": catalog.seq1f1b(4, 8, each, sequence_chunks=4)},
        costs=each,
    ).rows
    assert [row["makespan"] / (4 * unit) for row in same] == [629.3925] * 2
    with pytest.raises(
        ValueError,
        match="causal has no effect on 1f1b, gpipe: sequences are whole there",
    ):
        ashlar_pp.compare(["1f1b", "gpipe"], causal=30)
    with pytest.raises(ValueError, match="costs that are given for each chunk"):
        ashlar_pp.compare(["seq1f1b"], costs=each, causal=30)


LONG = dict(
    placement=ashlar_pp.wave(8, 2),
    micro_batches=64,
    costs=Costs(10, 13, 8, transfer=1),
    budget=100_000_000,
)


def test_a_search_stops_when_it_is_told_to():
    started = time.monotonic()
    found = ashlar_pp.search(**LONG, progress=lambda best, spent: False)
    found.schedule.check()
    assert time.monotonic() - started < 60

    def fails(best, spent):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        ashlar_pp.search(**LONG, progress=fails)


def test_other_threads_run_during_a_search_and_ctrl_c_ends_it():
    ticks = []

    def interrupt():
        for _ in range(5):
            time.sleep(0.05)
            ticks.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    # a shell's background jobs ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            ashlar_pp.search(**LONG)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(ticks) == 5


def test_a_block_of_ones_own():
    cells = {"0F": 0, "1F": 1, "1B": 2, "0B": 4}
    one = ashlar_pp.block(ashlar_pp.linear(2), cells, 3)
    schedule = one | repeat(4) | squeeze()
    assert [str(p) for p in schedule.order[1][:4]] == ["1F0", "1B0", "1F1", "1B1"]
    assert schedule.peak_activations == [2, 1]
    with pytest.raises(ashlar_pp.Violation, match="overlap"):
        ashlar_pp.block(ashlar_pp.linear(2), cells, 1)
    with pytest.raises(ValueError, match="written like 2F0, not '0Q'"):
        ashlar_pp.block(ashlar_pp.linear(2), {"0Q": 0}, 1)
    with pytest.raises(ValueError, match="the stage of 2F must be from 0 to 1"):
        ashlar_pp.block(ashlar_pp.linear(2), {"2F": 0}, 1)


def test_a_schedule_of_ones_own():
    orders = [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]]
    schedule = ashlar_pp.schedule(ashlar_pp.linear(2), orders, Costs(2, 2, 2))
    assert schedule == catalog.one_f_one_b(2, 2, Costs(2, 2, 2))
    assert schedule == ashlar_pp.schedule(
        ashlar_pp.linear(2),
        orders,
        Costs(2, 2, 2),
        starts=[[p.start for p in line] for line in schedule.order],
    )
    with pytest.raises(ashlar_pp.Violation):
        ashlar_pp.schedule(
            ashlar_pp.linear(2), [orders[0], ["1B0", "1F0", "1F1", "1B1"]]
        )
    with pytest.raises(ValueError, match="one for each pass of device 1"):
        ashlar_pp.schedule(ashlar_pp.linear(2), orders, starts=[[0, 1, 2, 3], [1, 2]])


def test_json_is_read_again():
    costs = Costs(2, 3, 1, transfer=1)
    for name, published in (catalog.entries | catalog.vocabulary_entries).items():
        text = ashlar_pp.emit(published(4, 8, costs), "json")
        assert ashlar_pp.emit(ashlar_pp.read_json(text), "json") == text, name
    block = (
        '{"placement": [0, 1], "interval": 3, '
        '"cells": {"0F": 0, "1F": 1, "1B": 2, "0B": 4}}'
    )
    assert ashlar_pp.read_json(block) == ashlar_pp.block(
        ashlar_pp.linear(2), {"0F": 0, "1F": 1, "1B": 2, "0B": 4}, 3
    )
    with pytest.raises(ValueError, match='^line 1, column 1: lacks "route"$'):
        ashlar_pp.read_json('{"placement": [0, 1]}')
    with pytest.raises(
        ValueError, match="^'mine.json', line 1, column 2: syntax error"
    ):
        ashlar_pp.read_json("{", name="mine.json")
    with pytest.raises(ashlar_pp.Violation):
        ashlar_pp.read_json(block.replace('"1B": 2', '"1B": 1'))


def test_times_in_json_may_have_units():
    text = (
        '{"placement": [0], "interval": "3ms", "costs": {"forward": "%s"}, '
        '"cells": {"0F": "0ms", "0B": "1ms"}}'
    )
    assert ashlar_pp.read_json(text % "0.5ms") == ashlar_pp.block(
        ashlar_pp.linear(1), {"0F": 0, "0B": 2}, 6, Costs(1, 2, 2)
    )
    with pytest.warns(
        UserWarning, match="'1.00000000001ms' and others with more are rounded"
    ):
        assert ashlar_pp.read_json(text % "1.00000000001ms").interval == 3


def test_measured_costs_are_read():
    text = """{"costs": {"unit": "us", "stages": [
      {"forward": 2, "backward_input": {"median": 3}, "backward_weight": 1}],
      "links": {"inside": {"latency": 0.5}}}}"""
    costs, tick_ns = ashlar_pp.read_costs(text)
    assert costs == Costs(2000, 3000, 1000, transfer=500) and tick_ns == 1
    with pytest.raises(
        ValueError, match="^'costs.json', line 1, column 11: lacks \"unit\"$"
    ):
        ashlar_pp.read_costs('{"costs": {}}', "costs.json")
