"""Runs ELF (elf-pipeline 0.1.0) on ranks without a GPU. It names CUDA in a few places; here they mean the processor.

Streams do nothing, tensors and modules that move to "cuda" stay, and sends are kept until the end of a step, as ELF does
with MPI: gloo drops a send without a reference. Two stages of one rank that exchange values get a group of that rank
alone, since torch 2.15 refuses a rank twice in a group; ELF hands such values over directly.
"""

import contextlib
import functools
import types

import torch
import torch.distributed as dist
from torch import nn


class _Stream:
    def wait_stream(self, other):
        pass


class _Torch(types.ModuleType):
    """Stands for torch in one module of ELF's."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def tensor(self, *args, device=None, **kwargs):
        return torch.tensor(*args, **kwargs)


@functools.cache
def installed():
    """Imports the package elf with these changes. It must not have been imported before."""
    torch.cuda.Stream = _Stream
    torch.cuda.current_stream = lambda *_: _Stream()
    torch.cuda.stream = lambda _: contextlib.nullcontext()
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.empty_cache = lambda: None
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.memory_allocated = torch.cuda.max_memory_allocated = lambda *_: 0
    nn.Module.cuda = lambda self, *_: self
    to, new_group = torch.Tensor.to, dist.new_group

    def to_processor(self, *args, **kwargs):
        return to(self, *args, **({**kwargs, "device": "cpu"} if kwargs.get("device") == "cuda" else kwargs))

    torch.Tensor.to = to_processor
    dist.new_group = lambda ranks=None, *args, **kwargs: new_group(ranks and sorted(set(ranks)), *args, **kwargs)
    import elf.execution.block
    import elf.pipeline

    elf.pipeline.torch = _Torch("torch")
    elf.execution.block._is_mpi = lambda *_: True
    return elf
