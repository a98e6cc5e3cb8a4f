"""Plans of residency: when devices have weights whole."""

import pytest

import ashlar_pp

SHARDED = {"data_ranks": 2, "sharding": "weights"}


@pytest.fixture
def schedule():
    return ashlar_pp.catalog.find("depth-first")(4, 16)


def test_a_plan_is_a_value(schedule):
    plan = ashlar_pp.planned_residency(schedule, stages=1)
    assert ashlar_pp.Residency(plan.stays) == plan
    assert plan.stays[0][:2] == [(0, 0, 0, 3), (4, 0, 4, 7)]
    program = ashlar_pp.lower(residency=plan, **SHARDED)(schedule)
    program.check()
    assert program != ashlar_pp.lower(weight_buffers=2, **SHARDED)(schedule)
    assert "UNSHARD" in program.pytorch()


def test_a_wrong_plan_is_refused(schedule):
    stays = ashlar_pp.planned_residency(schedule, stages=1).stays
    stays[0][0] = (0, 0, 0, 2)
    with pytest.raises(ashlar_pp.Violation, match="gathered and not yet given up"):
        ashlar_pp.lower(residency=ashlar_pp.Residency(stays), **SHARDED)(schedule)
    with pytest.raises(ValueError, match="lookahead is of PyTorch's rule"):
        ashlar_pp.planned_residency(schedule, 2, lookahead=1, passes_ahead=1)


def test_the_choice_is_never_longer_than_pytorch_s_rule(schedule):
    costs = ashlar_pp.Costs(100, 100, 100, ring_bandwidth=1)
    memory = [ashlar_pp.StageMemory(weights=900, weight_gradient=900, stash=100)]
    simulate = ashlar_pp.simulate(costs, memory)
    rule = ashlar_pp.planned_residency(schedule, stages=1)
    by_rule = simulate(ashlar_pp.lower(residency=rule, **SHARDED)(schedule))
    peak = max(device.peak for device in by_rule.memory)
    chosen = ashlar_pp.choose_residency(
        schedule, memory, 2, stages=2, limit=peak, costs=costs
    )
    assert chosen.fits and max(chosen.peak) <= peak
    assert chosen.makespan <= by_rule.makespan
    again = simulate(ashlar_pp.lower(residency=chosen.residency, **SHARDED)(schedule))
    assert again.makespan == chosen.makespan
    assert not ashlar_pp.choose_residency(schedule, memory, 2, limit=1).fits
