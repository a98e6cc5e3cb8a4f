"""GPUs and ranks that a program is told of while it runs up to its training."""

from __future__ import annotations

import importlib
import types
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_BYTES = 80 << 30


def tell(devices: int, ranks: int) -> None:
    """Answers questions about GPUs and ranks: `devices` of a node, `ranks` in all, of
    which this process is the first. Nothing is sent, and tensors of a GPU stay here."""
    _tell_of_devices(devices)
    _tell_of_ranks(ranks)
    mode: Any = _OnHost()
    mode.__enter__()
    _keep_modules()


def _tell_of_devices(devices: int) -> None:
    sheet = types.SimpleNamespace(
        name="NVIDIA H100 80GB HBM3",
        major=9,
        minor=0,
        total_memory=_BYTES,
        multi_processor_count=132,
    )
    answers: dict[str, Any] = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "device_count": devices,
        "current_device": 0,
        "get_device_capability": (9, 0),
        "get_device_name": sheet.name,
        "get_device_properties": sheet,
        "mem_get_info": (_BYTES, _BYTES),
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
    }
    nothing = (
        "init _lazy_init set_device empty_cache synchronize manual_seed "
        "manual_seed_all reset_peak_memory_stats set_per_process_memory_fraction"
    )
    for name in nothing.split():
        answers[name] = None
    for name, value in answers.items():
        setattr(torch.cuda, name, _answer(value))
    if accelerator := getattr(torch, "accelerator", None):
        told = {
            "is_available": True,
            "device_count": devices,
            "current_accelerator": torch.device("cuda"),
            "current_device_index": 0,
            "set_device_index": None,
            "set_device_idx": None,
            "synchronize": None,
        }
        for name, value in told.items():
            vars(accelerator)[name] = _answer(value)


def _answer(value: Any) -> Any:
    def answer(*words: Any, **named: Any) -> Any:
        return value

    return answer


def _tell_of_ranks(ranks: int) -> None:
    """A group of the fake backend of PyTorch, which sends nothing."""
    if not torch.distributed.is_available():
        return
    fake = importlib.import_module("torch.testing._internal.distributed.fake_pg")
    real = torch.distributed.init_process_group

    def begin(*words: Any, **named: Any) -> None:
        said = int(named.get("world_size") or -1)
        count = ranks or (said if said > 0 else 1)
        if not torch.distributed.is_initialized():
            real("fake", store=fake.FakeStore(), rank=0, world_size=count)

    def spawn(function: Any, args: Any = (), *words: Any, **named: Any) -> None:
        function(0, *args)

    vars(torch.multiprocessing)["spawn"] = spawn
    for place in (torch.distributed, torch.distributed.distributed_c10d):
        vars(place).update(init_process_group=begin, barrier=_answer(None))


def _is_of_gpu(device: Any) -> bool:
    if isinstance(device, int) and not isinstance(device, bool):
        return True
    return isinstance(device, str | torch.device) and str(device).startswith("cuda")


class _OnHost(TorchFunctionMode):
    """Tensors that are to be on a GPU stay where they are."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if "device" in kwargs and _is_of_gpu(kwargs["device"]):
            del kwargs["device"]
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.to:
            args = (args[0], *(each for each in args[1:] if not _is_of_gpu(each)))
            if len(args) == 1 and not kwargs:
                return args[0]
        return func(*args, **kwargs)


def _keep_modules() -> None:
    """Modules, too; a cast of their format is made."""
    modules: Any = torch.nn.Module
    to = modules.to

    def cast(self: torch.nn.Module, *words: Any, **named: Any) -> torch.nn.Module:
        formats = [each for each in words if isinstance(each, torch.dtype)]
        if isinstance(named.get("dtype"), torch.dtype):
            formats.append(named["dtype"])
        return to(self, formats[0]) if formats else self

    def stay(self: torch.nn.Module, *words: Any, **named: Any) -> torch.nn.Module:
        return self

    modules.to, modules.cuda = cast, stay
    modules.to_empty = stay  # torch.nn.utils.skip_init takes memory by it
