"""Where the tests run: on the processor with gloo, or with ASHLAR_TEST_DEVICE=cuda on GPUs with NCCL."""

import os

import torch
import torch.distributed as dist

DEVICE = os.environ.get("ASHLAR_TEST_DEVICE", "cpu")


def join(meeting, rank, world, device=DEVICE):
    """The group of all ranks, which meet at a place, as `init_process_group` names it. What is made later is on the device.

    Ranks may share a GPU. Then each says that it is a machine of its own: NCCL takes two processes on a GPU for a mistake.
    """
    torch.set_num_threads(1)
    if device == "cuda":
        if torch.cuda.device_count() < world:
            os.environ.update(NCCL_HOSTID=f"machine-{rank}", NCCL_SOCKET_IFNAME="lo")
        torch.cuda.set_device(rank % torch.cuda.device_count())
        torch.set_default_device("cuda")
    dist.init_process_group("nccl" if device == "cuda" else "gloo", init_method=meeting, rank=rank, world_size=world)
