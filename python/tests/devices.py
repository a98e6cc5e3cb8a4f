"""Selects where the tests run: on the processor with gloo, or with
ASHLAR_TEST_DEVICE=cuda on GPUs with NCCL.
"""

import os

import torch
import torch.distributed as dist

DEVICE = os.environ.get("ASHLAR_TEST_DEVICE", "cpu")


def join(meeting, rank, world, device=DEVICE):
    """Makes the group of all ranks. meeting: an init_method of `init_process_group`.
    Later tensors are on the device.

    Ranks may share a GPU. Then each claims to be a machine of its own, because NCCL
    refuses two processes on a GPU.
    """
    torch.set_num_threads(1)
    if device == "cuda":
        if torch.cuda.device_count() < world:
            os.environ.update(NCCL_HOSTID=f"machine-{rank}", NCCL_SOCKET_IFNAME="lo")
        torch.cuda.set_device(rank % torch.cuda.device_count())
        torch.set_default_device("cuda")
    dist.init_process_group(
        "nccl" if device == "cuda" else "gloo",
        init_method=meeting,
        rank=rank,
        world_size=world,
    )
