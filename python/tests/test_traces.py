"""Costs are read from traces of PyTorch's profiler: from those in test/data, and from
one made here.
"""

import gzip
import json
import warnings

import pytest

import ashlar_pp
from ashlar_pp import costs_from_trace


def passes(rank, stage, ahead):
    """Events of two steps of a micro-batch on two ranks: forwards take 2 ms, backwards
    4, with 0.1 before operators.
    """
    for step in range(2):
        from_ = 20e3 * step + ahead
        times = {
            0: [("F", 0, 0.1, 2), ("B", 11, 0.1, 4)],
            1: [("F", 3, 0.1, 2), ("B", 5, 0.1, 4)],
        }[rank]
        for letter, begin, wait, length in times:
            at = from_ + 1e3 * begin
            yield {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"PP:{stage}{letter}0",
                "ts": at,
                "dur": 1e3 * length,
            }
            yield {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::mm",
                "ts": at + 1e3 * wait,
                "dur": 10,
            }


def trace(rank, stage, ahead=0.0):
    return json.dumps(
        {
            "distributedInfo": {"rank": rank},
            "traceEvents": list(passes(rank, stage, ahead)),
        }
    )


def test_one_rank_gives_the_costs_of_its_stage(tmp_path):
    file = tmp_path / "rank0.json.gz"
    file.write_bytes(gzip.compress(trace(0, 0).encode()))
    found = costs_from_trace(file)
    assert [
        tuple(t * found.tick_ns / 1e6 for t in one) for one in found.costs.per_stage
    ] == [(2.0, 0.0, 4.0)]
    assert found.warnings == ()


def test_all_ranks_give_transfers_and_clocks_whatever_those_are(tmp_path):
    seen = []
    for ahead in (0.0, 7e6):
        (tmp_path / "rank0.json").write_text(trace(0, 0))
        (tmp_path / "rank1.json").write_text(trace(1, 1, ahead))
        with pytest.warns(UserWarning, match="the backwards of stage 1 are fused"):
            found = costs_from_trace(tmp_path)
        measured = json.loads(found.text)["costs"]["measured"]
        seen.append(
            (found.costs.per_stage, measured["clocks_ahead_ns"][1] - 1e3 * ahead)
        )
        assert (
            json.loads(found.text)["costs"]["stages"][1]["backward_weight"]["samples"]
            == 2
        )
    assert seen[0][0] == seen[1][0] and abs(seen[0][1] - seen[1][1]) < 1


def test_what_a_trace_leaves_open_is_told(tmp_path):
    file = tmp_path / "rank1.json"
    file.write_text(trace(1, 1))
    with pytest.warns(UserWarning, match="no pass of stage 0 was seen"):
        costs_from_trace([file])
    file.write_text("{}")
    with pytest.raises(
        ValueError, match=r"rank1.json', line 1, column 1: lacks .traceEvents"
    ):
        costs_from_trace(file)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no file"):
        costs_from_trace(tmp_path / "empty")


def test_costs_of_a_trace_are_those_of_its_text(tmp_path):
    file = tmp_path / "rank0.json"
    file.write_text(trace(0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = costs_from_trace(file)
    again, tick_ns = ashlar_pp.read_costs(found.text)
    assert again.per_stage == found.costs.per_stage and tick_ns == found.tick_ns
