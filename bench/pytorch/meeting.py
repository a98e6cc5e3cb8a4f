"""Joins the ranks of a measurement, with gloo or on GPUs, and waits until their work is done."""

import os
import pathlib
import sys

import torch
import torch.distributed as dist

sys.path.append(str(pathlib.Path(__file__).parents[2] / "python" / "tests"))
import devices  # noqa: E402


def join(device):
    """Makes the group of torchrun's ranks, which may share a GPU."""
    devices.join("env://", int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), device)


def all_done():
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    dist.barrier()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()  # NCCL's barrier only orders the stream
