"""Pairs of passes in parts, late links, offload, and differing micro-batches give the
results of the tool and the library.
"""

import pytest

import ashlar_pp
from ashlar_pp import (
    Costs,
    PartCosts,
    StageMemory,
    StageParts,
    catalog,
    check,
    lower,
    retime,
    simulate,
)

LAYER = {
    "forward": [
        ("compute", 400),
        ("exchange", 200),
        ("compute", 400),
        ("exchange", 200),
    ],
    "backward": [
        ("exchange", 200),
        ("compute", 400),
        ("compute", 400, "weights"),
        ("exchange", 200),
        ("compute", 400),
        ("compute", 400, "weights"),
    ],
}
GIB = 1 << 30


def test_the_time_of_a_pair_follows_from_parts():
    parts = PartCosts([StageParts(**LAYER, layers=4)])
    costs = Costs(parts=parts)
    assert costs.per_stage == [(4800, 4800, 3200)]
    # docs/braids.md
    assert (costs.pair(), costs.pair("backward_input"), Costs().pair()) == (
        9600,
        6400,
        None,
    )
    assert Costs(parts=PartCosts(parts.stages, "in turn")).pair() >= costs.pair()
    assert parts.stages[0].forward == LAYER["forward"] * 4
    assert parts.stages[0].backward[:3] == [
        ("exchange", 200, "input"),
        ("compute", 400, "input"),
        ("compute", 400, "weights"),
    ]
    other = StageParts(forward=[("compute", 100)], backward=[("exchange", 300)])
    two = Costs(parts=PartCosts([StageParts(**LAYER), other]), transfer=1)
    assert (two.pair("backward", 0, 1), two.pair("backward", 1, 1), two.transfer) == (
        1200,
        300,
        1,
    )
    run = catalog.dualpipev(4, 8, costs) | lower() | check() | simulate(costs)
    assert (
        run.makespan
        == catalog.dualpipev(4, 8, costs).makespan
        < catalog.dualpipev(4, 8, Costs(4800, 4800, 3200)).makespan
    )
    for wrong, text in [
        (
            lambda: StageParts([("compute", 1)], [("network", 1)]),
            "must be one of 'compute', 'exchange'",
        ),
        (
            lambda: StageParts([], [("compute", 1)]),
            "number of a pass's parts must be from 1",
        ),
        (lambda: StageParts(**LAYER, layers=84), "layers must be from 1 to 83"),
        (lambda: PartCosts([], "best"), "number of stages with parts must be from 1"),
        (lambda: PartCosts(parts.stages, "at random"), "pairs must be one of 'best'"),
        (lambda: Costs(parts=parts, overlapped=3), "instead of that"),
        (
            lambda: Costs(
                parts=PartCosts([StageParts([("compute", -1)], [("compute", 1)])])
            ),
            "forward of stage 0 takes -1",
        ),
    ]:
        with pytest.raises(ValueError, match=text):
            wrong()


def test_parts_are_read_and_compared():
    text = """{"costs": {"unit": "us", "stages": [{"layers": 4, "parts": {
      "forward": [{"compute": 400}, {"exchange": 200},
                  {"compute": 400}, {"exchange": 200}],
      "backward": [{"exchange": 200},
                   {"compute": 400}, {"compute": 400, "of": "weights"},
                   {"exchange": 200},
                   {"compute": 400}, {"compute": 400, "of": "weights"}]}}]}}"""
    parts, (costs, tick_ns) = ashlar_pp.read_parts(text), ashlar_pp.read_costs(text)
    assert Costs(parts=parts) == costs and costs.pair() * tick_ns == 9_600_000
    assert (
        ashlar_pp.read_parts(
            '{"costs": {"unit": "us", "stages": [{"forward": 2, "backward_input": 3, '
            '"backward_weight": 1}]}}'
        )
        is None
    )
    names = ["depth-first", "combined-1f1b", "dualpipev", "dualpipe"]
    rows = ashlar_pp.compare(
        {
            n: catalog.find(n)(
                8, 32, **({"chunks": 4} if "p" in n[:3] or "comb" in n else {})
            )
            for n in names
        },
        devices=8,
        costs=costs,
        parts=parts,
    ).rows
    # `ashlar compare` prints the same in docs/braids.md.
    assert [round(row["makespan"] * tick_ns / 1000) for row in rows] == [
        432000,
        349600,
        362400,
        360000,
    ]
    with pytest.raises(ValueError, match="of as many stages"):
        ashlar_pp.compare(["1f1b"], costs=Costs(per_stage=[(1, 1, 1)] * 4), parts=parts)


def test_parts_run_on_two_resources():
    parts = PartCosts(
        [
            StageParts(
                [("compute", 4), ("exchange", 3)],
                [("exchange", 3), ("compute", 4), ("compute", 2, "weights")],
            )
        ]
    )
    schedule = catalog.gpipe(1, 2, Costs(parts=parts))
    run = ashlar_pp.time_parts(schedule, parts)
    assert (schedule.makespan, run.makespan, run.computing, run.exchanging) == (
        32,
        26,
        [20],
        [12],
    )
    assert run.passes == [
        [("0F0", 0, 7), ("0F1", 4, 11), ("0B0", 11, 20), ("0B1", 14, 26)]
    ]
    assert run.parts[0][:4] == [
        ("0F0", "compute", 0, 4),
        ("0F0", "exchange", 4, 7),
        ("0F1", "compute", 4, 8),
        ("0F1", "exchange", 8, 11),
    ]
    row = ashlar_pp.compare(
        {"own": schedule},
        devices=1,
        micro_batches=2,
        costs=Costs(parts=parts),
        parts=parts,
    ).rows[0]
    assert (row["makespan"], row["makespan_of_parts"]) == (32, 26)
    assert "makespan_of_parts" not in str(ashlar_pp.compare(["1f1b"]))
    with pytest.raises(ValueError, match="stages"):
        ashlar_pp.time_parts(schedule, PartCosts(parts.stages * 3))


def test_a_search_braids_when_asked_to():
    costs = Costs(parts=PartCosts([StageParts(**LAYER, layers=4)]))
    asked = dict(limit=10, budget=500, aim="makespan")
    plain = ashlar_pp.search(ashlar_pp.v_shape(4), 12, costs, **asked)
    pairs = ashlar_pp.search(ashlar_pp.v_shape(4), 12, costs, **asked, braid=True)
    assert pairs.bound <= pairs.reached < plain.reached == plain.bound
    assert any(p.overlapped for line in pairs.schedule.order for p in line)
    assert not any(p.overlapped for line in plain.schedule.order for p in line)
    assert max(pairs.schedule.peak_activations) <= 10 and pairs.offload is None
    (pairs.schedule | lower()).check()
    found = ashlar_pp.search_layouts(
        4, 8, costs, budget=100, aim="makespan", braid=True
    )
    assert (
        found[0].reached
        <= ashlar_pp.search_layouts(4, 8, costs, budget=100, aim="makespan")[0].reached
    )
    with pytest.raises(ValueError, match="braid needs costs of pairs"):
        ashlar_pp.search(ashlar_pp.linear(4), 8, braid=True)
    with pytest.raises(ValueError, match="braid needs costs of pairs"):
        ashlar_pp.search(ashlar_pp.linear(4), 8, costs, aim="program", braid=True)


def test_links_say_how_late_they_may_be():
    costs = Costs(10, 12, 8, transfer=1)
    schedule = catalog.zb_h1(4, 8, costs)
    for one in schedule.link_slacks():
        assert one.transfers == 8 and abs(one.from_device - one.to_device) == 1
        exactly, more = (
            schedule
            | retime(
                Costs(
                    10,
                    12,
                    8,
                    transfer=1,
                    links=[(one.from_device, one.to_device, 1 + by)],
                )
            )
            for by in (one.slack, one.slack + 1)
        )
        assert exactly.makespan == schedule.makespan < more.makespan
    program = schedule | lower()
    assert [one.slack for one in ashlar_pp.link_slacks(program, costs)]
    late = costs.with_late_link(1, 2, 20)
    assert late == Costs(10, 12, 8, transfer=1, links=[(1, 2, 21), (2, 1, 21)])
    slow, room = schedule | retime(late), [8] * 4
    found = ashlar_pp.search(
        ashlar_pp.linear(4), 8, late, limit=room, budget=300, aim="makespan"
    )
    assert found.reached < slow.makespan
    table = ashlar_pp.compare(["1f1b", "zb-h1"], costs=costs)
    assert table.rows[0]["slack"] == min(
        s.slack for s in catalog.one_f_one_b(4, 8, costs).link_slacks()
    )
    with pytest.raises(ValueError, match="later, not earlier"):
        costs.with_late_link(1, 1, 20)


def test_what_is_kept_may_leave_for_the_host():
    # a copy takes 16 ticks
    costs, memory = (
        Costs(20, 20, 20, host_bandwidth=GIB // 16),
        [StageMemory(stash=GIB)],
    )
    asked = dict(limit=2 * GIB, memory=memory, aim="makespan", budget=500)
    plain = ashlar_pp.search(ashlar_pp.linear(4), 8, costs, **asked)
    found = ashlar_pp.search(ashlar_pp.linear(4), 8, costs, **asked, offload=True)
    assert found.bound <= found.reached < plain.reached and found.offload.fits
    run = (
        found.schedule
        | lower(offload=found.offload)
        | check()
        | simulate(costs, memory)
    )
    assert run.makespan == found.reached
    assert [d.peak for d in run.memory] == found.offload.peak and max(
        found.offload.peak
    ) <= 2 * GIB
    assert (
        max(d.host_peak for d in run.memory)
        > 0
        == max(
            d.host_peak
            for d in (found.schedule | lower() | simulate(costs, memory)).memory
        )
    )
    # Two devices on a link are no better.
    shared = Costs(20, 20, 20, host_bandwidth=GIB // 16, host_shared_by=2)
    assert (
        ashlar_pp.search(ashlar_pp.linear(4), 8, shared, **asked, offload=True).reached
        >= found.reached
    )
    with pytest.raises(ValueError, match="offload needs memory and limit"):
        ashlar_pp.search(ashlar_pp.linear(4), 8, costs, offload=True)
    with pytest.raises(ValueError, match="neither with braid nor with order"):
        ashlar_pp.search(
            ashlar_pp.linear(4),
            8,
            Costs(per_stage=[(1, 1, 1)] * 8, micro_batches=8),
            **asked,
            offload=True,
            order=True,
        )
    stuck = Costs(20, 20, 20, host_bandwidth=1)
    with pytest.raises(ValueError, match="that copies bring within the limit"):
        ashlar_pp.search(
            ashlar_pp.linear(4),
            8,
            stuck,
            limit=GIB - 1,
            memory=memory,
            budget=50,
            offload=True,
        )


def test_what_leaves_is_chosen():
    costs, memory = (
        Costs(20, 20, 20, host_bandwidth=GIB // 10),
        [StageMemory(stash=GIB)],
    )
    schedule = catalog.gpipe(2, 6, costs)
    half = ashlar_pp.offload_share(schedule, memory, 50)
    assert sorted(token[:2] for token in half.forwards) == ["0F"] * 3 + ["1F"] * 3
    run = schedule | lower(offload=half) | check() | simulate(costs, memory)
    assert (
        run.makespan == schedule.makespan and [d.peak for d in run.memory] == half.peak
    )
    # copies start early here
    assert all(0 < d.host_peak <= most for d, most in zip(run.memory, half.host_peak))
    for room in (3, 4, 5):
        enough = ashlar_pp.selective_offload(schedule, memory, room * GIB)
        assert enough.fits == (max(enough.peak) <= room * GIB)
    assert ashlar_pp.offload_exactly(schedule, memory, ["0F1"]).forwards == ["0F1"]
    assert not ashlar_pp.offload_exactly(schedule, memory, ["0F1"], 5 * GIB).fits
    assert not ashlar_pp.offload_exactly(
        schedule, memory, ["0F1"], costs=Costs(20, 20, 20, host_bandwidth=1)
    ).fits
    assert (
        repr(ashlar_pp.offload_exactly(schedule, memory, ["0F1"]))
        == "<Offload: 1 value leaves>"
    )
    with pytest.raises(ValueError, match="written like 0F1, not '0B1'"):
        ashlar_pp.offload_exactly(schedule, memory, ["0B1"])
    with pytest.raises(ValueError, match="percent must be from 0 to 100"):
        ashlar_pp.offload_share(schedule, memory, 101)
    with pytest.raises(ashlar_pp.Violation):
        ashlar_pp.offload_exactly(schedule, memory, ["7F1"])


LENGTHS = [4096, 100, 200, 300, 2000, 2100, 50, 60]


def test_samples_are_dealt_and_micro_batches_put_in_order():
    dealt = ashlar_pp.deal_samples(
        LENGTHS, 4, Costs(20_000, 26_000, 14_000, transfer=3), causal=(30, 46)
    )
    assert (
        sorted(sum(dealt.micro_batches, [])) == list(range(8))
        and len(dealt.micro_batches) == 4
    )
    assert (
        dealt.bound <= dealt.longest
        and dealt.costs.micro_batches == 4
        and dealt.costs.transfer == 3
    )
    # the longest sample alone
    assert max(map(sum, dealt.costs.per_stage)) == dealt.longest == 60_000
    schedule = catalog.one_f_one_b(4, 4, dealt.costs)
    ordered = ashlar_pp.order_micro_batches(schedule)
    assert sorted(ordered.order) == [0, 1, 2, 3] and ordered.is_best
    assert (
        ordered.bound
        <= ordered.reached
        == ordered.schedule.makespan
        < schedule.makespan
    )
    asked = dict(budget=100, aim="makespan")
    plain = ashlar_pp.search(ashlar_pp.linear(4), 4, dealt.costs, **asked)
    found = ashlar_pp.search(ashlar_pp.linear(4), 4, dealt.costs, **asked, order=True)
    assert plain.micro_batches is None and sorted(found.micro_batches) == [0, 1, 2, 3]
    assert found.bound <= found.reached < plain.reached
    rows = dealt.costs.per_stage
    assert found.schedule.costs.per_stage == [rows[k] for k in found.micro_batches]
    with pytest.raises(ValueError, match="order needs costs of each micro-batch"):
        ashlar_pp.search(ashlar_pp.linear(4), 4, order=True)
    with pytest.raises(ValueError, match="there are no samples"):
        ashlar_pp.deal_samples([], 4, Costs())
    with pytest.raises(ValueError, match="costs are those of one sequence"):
        ashlar_pp.deal_samples(LENGTHS, 4, dealt.costs)
    with pytest.raises(ashlar_pp.Violation, match="memory"):
        ashlar_pp.deal_samples(LENGTHS, 4, Costs(), most_tokens=4095)
    with pytest.raises(ValueError, match="limit and memory go together"):
        ashlar_pp.order_micro_batches(schedule, limit=3)
    with pytest.raises(ValueError, match="programs are not timed here"):
        ashlar_pp.order_micro_batches(schedule, aim="program")


def test_ctrl_c_ends_a_search_that_may_offload():
    costs, memory = (
        Costs(20, 21, 19, host_bandwidth=GIB // 16),
        [StageMemory(stash=GIB)],
    )
    asked = dict(limit=2 * GIB, memory=memory, budget=100_000_000, offload=True)

    def fails(best, spent):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        ashlar_pp.search(ashlar_pp.linear(6), 32, costs, **asked, progress=fails)
    assert ashlar_pp.search(
        ashlar_pp.linear(6), 32, costs, **asked, progress=lambda *a: False
    ).offload.fits
