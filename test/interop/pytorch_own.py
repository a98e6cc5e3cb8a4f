"""Programs of PyTorch's own that do not run as they should are still what test/data/pytorch has.

usage: pytorch_own.py FOLDER

Without the torch that wrote them the exit code is 77: skipped.
"""

import pathlib
import sys

SKIPPED = 77
WRITTEN_BY = "2.15."
DEVICES = MICRO_BATCHES = 2


def programs():
    from torch.distributed.pipelining import schedules
    from torch.distributed.pipelining.stage import _PipelineStageBase

    class Stage(_PipelineStageBase):
        """A stage with what a schedule asks for when it is built: no model, no processes."""

        def __init__(self):
            self.stage_index = self.group_rank = 0
            self.num_stages = self.group_size = DEVICES
            self.group = self.submod = None
            self.has_backward = True
            self.stage_index_to_group_rank = {stage: stage for stage in range(DEVICES)}

        _create_grad_recv_info = _prepare_forward_infra = _prepare_backward_infra = None

    def interleaved(deferred):
        return schedules.ScheduleInterleaved1F1B(
            [Stage()], MICRO_BATCHES, loss_fn=print, defer_pp_recv=deferred
        ).pipeline_order_with_comms

    return {
        "interleaved": interleaved(False),
        "interleaved_deferred": interleaved(True),
        "raw_1f1b": schedules.Schedule1F1B(Stage(), MICRO_BATCHES, loss_fn=print)._get_pipeline_order(),
    }


def main(folder):
    try:
        import torch
        import torch.distributed.pipelining
    except ImportError as missing:
        print(f"skipped: no torch with torch.distributed.pipelining here ({missing})")
        return SKIPPED
    if not torch.__version__.startswith(WRITTEN_BY):
        print(f"skipped: this is torch {torch.__version__}, the files are of {WRITTEN_BY}x")
        return SKIPPED
    different = 0
    for name, lines in programs().items():
        text = "".join(",".join(map(str, lines[rank])) + "\n" for rank in sorted(lines))
        same = text == (pathlib.Path(folder) / f"{name}.csv").read_text()
        print(f"{name}: {'same' if same else 'DIFFERENT'}")
        different += not same
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
