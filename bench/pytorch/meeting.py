"""How the ranks of a measurement meet, with gloo or on GPUs, and when all is done that they have begun."""

import os

import torch
import torch.distributed as dist


def join(device):
    """The group of all ranks. Those that share a GPU each say that they are a machine of their own, or NCCL refuses them."""
    torch.set_num_threads(1)
    if device == "cuda":
        rank, count = int(os.environ["RANK"]), torch.cuda.device_count()
        if count < int(os.environ["WORLD_SIZE"]):
            os.environ.update(NCCL_HOSTID=f"machine-{rank}", NCCL_SOCKET_IFNAME="lo")
        torch.cuda.set_device(rank % count)
        torch.set_default_device("cuda")
    dist.init_process_group("nccl" if device == "cuda" else "gloo")


def all_done():
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    dist.barrier()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()  # NCCL's barrier is one of the stream
