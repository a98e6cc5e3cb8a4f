"""How the ranks of a measurement meet, with gloo or on GPUs, and when all is done that they have begun."""

import os
import pathlib
import sys

import torch
import torch.distributed as dist

sys.path.append(str(pathlib.Path(__file__).parents[2] / "python" / "tests"))
import devices  # noqa: E402


def join(device):
    """The group of torchrun's ranks, which may share a GPU."""
    devices.join("env://", int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), device)


def all_done():
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    dist.barrier()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()  # NCCL's barrier is one of the stream
