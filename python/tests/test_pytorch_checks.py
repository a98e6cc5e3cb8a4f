"""Ashlar's checks find faults that PyTorch's own let pass."""

import pytest
from torch.distributed.pipelining import schedules
from torch.distributed.pipelining.stage import _PipelineStageBase

import ashlar_pp
from ashlar_pp.torch.runtime import ProgramRuntime


class Stage(_PipelineStageBase):
    """The interface of a stage that building a schedule needs: no model, no
    processes.
    """

    def __init__(self):
        self.stage_index = self.group_rank = 0
        self.num_stages = self.group_size = 2
        self.group = self.submod = None
        self.has_backward = True
        self.stage_index_to_group_rank = {0: 0, 1: 1}

    _create_grad_recv_info = _prepare_forward_infra = _prepare_backward_infra = None


def text_of(lines):
    return "".join(
        ",".join(str(one) for one in lines[rank] if one is not None) + "\n"
        for rank in sorted(lines)
    )


def test_deferred_receives_wait_in_a_cycle():
    if not hasattr(schedules, "_PendingSendTracker"):
        pytest.skip("this torch does not defer receives")
    made = schedules.ScheduleInterleaved1F1B(
        [Stage()], 2, loss_fn=print, defer_pp_recv=True
    )
    text = text_of(made.pipeline_order_with_comms)
    with pytest.raises(ValueError, match="must not wait for each other in a cycle"):
        ashlar_pp.read_pytorch_program(text)
    ashlar_pp.read_pytorch_program(text, lanes="one_a_direction")


def test_which_communicators_are_safe_is_said():
    text = (
        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
        "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"
    )
    stuck = ashlar_pp.pytorch_communicators(text)
    assert [lanes for lanes, why in stuck.items() if not why] == [
        "one_a_direction",
        "one_a_kind",
    ]
    assert "0SEND_F1 on line 1" in stuck["one"]
    for lanes in ("one_a_direction", "one_a_kind"):
        ashlar_pp.read_pytorch_program(text, lanes=lanes)


def test_the_raw_order_of_1f1b_begins_with_the_wrong_micro_batch():
    text = text_of(
        schedules.Schedule1F1B(Stage(), 2, loss_fn=print)._get_pipeline_order()
    )
    with pytest.raises(ValueError, match="line 2.*1F2"):
        ashlar_pp.read_pytorch_program(text)


def test_receives_may_come_as_late_as_the_lanes_allow():
    schedule = ashlar_pp.catalog.depth_first(4, 8)
    early = (schedule | ashlar_pp.lower()).pytorch()
    for lanes in ("one", "one_a_kind", "one_a_direction"):
        program = schedule | ashlar_pp.lower(lanes=lanes, receives="when_needed")
        program.check()
        assert program.pytorch() != early
        assert ashlar_pp.pytorch_communicators(program.pytorch())[lanes] == ""


@pytest.mark.parametrize("name", sorted(ashlar_pp.catalog.vocabulary_entries))
def test_an_output_layer_in_shards_is_refused(name):
    schedule = ashlar_pp.catalog.find(name)(2, 2)
    program = schedule | ashlar_pp.lower()
    program.check()
    assert (
        not program.is_chain
        and (ashlar_pp.catalog.one_f_one_b(2, 2) | ashlar_pp.lower()).is_chain
    )
    assert "not a chain" in program.pytorch_obstacle()
    with pytest.raises(ValueError, match="not a chain"):
        program.pytorch()
    with pytest.raises(ValueError, match="not a chain"):
        ProgramRuntime({}, schedule)


def looped_stage(index, ranks, count):
    stage = Stage()
    stage.stage_index, stage.num_stages, stage.group_size = index, count, ranks
    stage.stage_index_to_group_rank = {s: s % ranks for s in range(count)}
    return stage


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_looped_bfs_is_the_order_of_pytorch(ranks, chunks):
    for micro_batches in (1, 2, 5, 8):
        stages = [looped_stage(c * ranks, ranks, ranks * chunks) for c in range(chunks)]
        theirs = text_of(
            schedules.ScheduleLoopedBFS(
                stages, micro_batches, loss_fn=print
            ).pipeline_order
        )
        ours = ashlar_pp.catalog.find("ScheduleLoopedBFS")(
            ranks, micro_batches, chunks=chunks
        )
        assert ashlar_pp.emit(ours, "pytorch") == theirs
        back = ashlar_pp.read_pytorch(theirs)
        assert ashlar_pp.emit(back, "pytorch") == theirs
