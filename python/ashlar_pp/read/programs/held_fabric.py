"""Fabric of Lightning in a loop of a program's own: what it is told is recorded, and
what it would do to modules, data and ranks is left out."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from .absent import Absent
from .held_wrappers import Wrappers

_FORMATS = {"32": "", "bf16": "bfloat16", "16": "float16"}


class AsImported(importlib.abc.MetaPathFinder):
    """Calls a function for each of some modules, once a program has imported it."""

    def __init__(self, then: dict[str, Callable[[Any], None]]) -> None:
        self.then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.then:
            return None
        change = self.then.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        run = loader.exec_module

        def executed(module: Any) -> None:
            run(module)
            change(module)

        loader.exec_module = executed
        return spec


class Fabric:
    """`devices` of a node are those that the program is told of."""

    def __init__(
        self, wrappers: Wrappers, devices: int, refuse: Callable[[str], None]
    ) -> None:
        self.wrappers = wrappers
        self.devices = devices
        self.refuse = refuse
        self._precision = "32-true"
        self._strategy = ""
        self._options: dict[str, Any] = {}
        self._said: dict[int, dict[str, Any]] = {}  # of strategies, by identity

    def hold(self) -> None:
        """Once Lightning is imported, by either of its names."""
        then: dict[str, Callable[[Any], None]] = {}
        for place in ("lightning.fabric", "lightning_fabric"):
            then[f"{place}.fabric"] = self._change
            for kind in ("ddp", "fsdp"):
                then[f"{place}.strategies.{kind}"] = self._keep_words
        sys.meta_path.insert(0, AsImported(then))

    def _keep_words(self, module: Any) -> None:
        for name in ("DDPStrategy", "FSDPStrategy"):
            if kind := getattr(module, name, None):
                kind.__init__ = self._kept(name)

    def _kept(self, name: str) -> Callable[..., None]:
        def begin(strategy: Any, *words: Any, **named: Any) -> None:
            self._said[id(strategy)] = {"name": name, **named}
            vars(strategy)["kept"] = True

        return begin

    def _change(self, module: Any) -> None:
        kind = module.Fabric
        kind.__init__ = self._begin
        same = {
            "device": torch.device("cuda"),
            "global_rank": 0,
            "local_rank": 0,
            "node_rank": 0,
            "is_global_zero": True,
            "loggers": [],
            "logger": Absent(),
            "strategy": Absent(),
        }
        for name, value in same.items():
            setattr(kind, name, value)
        kind.world_size = property(lambda fabric: _ranks())
        for name in "barrier call log log_dict save load load_raw".split():
            setattr(kind, name, _nothing)
        kind.clip_gradients = kind.seed_everything = _nothing
        kind.print = lambda fabric, *words, **named: print(*words)
        kind.to_device = kind.broadcast = lambda fabric, value, *words: value
        kind.all_reduce = kind.all_gather = lambda fabric, value, *words, **named: value
        kind.setup = kind.setup_module = lambda fabric, *words, **named: self._setup(
            *words, **named
        )
        kind.setup_optimizers = kind.setup_dataloaders = _given_back
        kind.backward = lambda fabric, loss, *words, **named: loss.backward()
        kind.no_backward_sync = self._no_sums
        kind.autocast = self._products
        for name in ("init_module", "init_tensor", "sharded_model", "rank_zero_first"):
            setattr(kind, name, self._products if "init" in name else _nowhere)
        kind.launch = lambda fabric, function=_nothing, *words, **named: function(
            fabric, *words, **named
        )

    @property
    def _begin(self) -> Callable[..., None]:
        def begin(fabric: Any, *words: Any, **named: Any) -> None:
            names = ("accelerator", "strategy", "devices", "num_nodes", "precision")
            named = {**dict(zip(names, words)), **named}
            self._precision = _full_name(str(named.get("precision") or "32-true"))
            said = named.get("devices", "auto")
            count = len(said) if isinstance(said, list) else said
            is_open = str(count) in ("auto", "-1")
            ranks = self.devices if is_open else int(count)
            ranks *= int(named.get("num_nodes") or 1)
            self._options = self._of(named.get("strategy", "auto"), ranks)
            if ranks > 1:
                torch.distributed.init_process_group("nccl", world_size=ranks)
            if not torch.distributed.is_initialized():
                self._strategy = ""

        return begin

    def _of(self, strategy: Any, ranks: int) -> dict[str, Any]:
        if id(strategy) in self._said and not isinstance(strategy, str):
            said = self._said[id(strategy)]
            self._strategy = "fsdp" if said.pop("name") == "FSDPStrategy" else "ddp"
            return dict(said)
        if strategy in ("auto", "ddp", "fsdp"):
            self._strategy = "ddp" if strategy == "auto" else strategy
            return {}
        self.refuse(f"Fabric's strategy {type(strategy).__name__} is not read")
        return {}

    def _setup(self, module: nn.Module, *rest: Any, **named: Any) -> Any:
        """Wraps it as the strategy does."""
        form, _, is_mixed = self._precision.partition("-")
        half = getattr(torch, _FORMATS[form] or "float32")
        if self._strategy == "ddp":
            size = self._options.get("bucket_cap_mb", 25)
            made: nn.Module = nn.parallel.DistributedDataParallel(
                module, bucket_cap_mb=size
            )
        elif self._strategy == "fsdp":
            made = self._sharded(module, half)
        else:
            made = module
        if is_mixed == "mixed":
            self.wrappers.products = _FORMATS[form]
        elif form != "32":
            module.to(half)
        return made if not rest else (made, *rest)

    def _sharded(self, module: nn.Module, half: torch.dtype) -> nn.Module:
        fsdp: Any = importlib.import_module("torch.distributed.fsdp")
        wrap: Any = importlib.import_module("torch.distributed.fsdp.wrap")
        policy = self._options.get("auto_wrap_policy")
        if isinstance(policy, set):
            policy = wrap.ModuleWrapPolicy(policy)
        strategy = self._options.get("sharding_strategy", "FULL_SHARD")
        if isinstance(strategy, str):
            strategy = fsdp.ShardingStrategy[strategy]
        again = self._options.get("activation_checkpointing_policy")
        again = again or self._options.get("activation_checkpointing")
        if again:
            self._recompute(module, again)
        mixed = self._options.get("mixed_precision")
        made: nn.Module = fsdp.FullyShardedDataParallel(
            module,
            auto_wrap_policy=policy,
            sharding_strategy=strategy,
            cpu_offload=self._options.get("cpu_offload"),
            device_mesh=self._options.get("device_mesh"),
            process_group=self._options.get("process_group"),
            mixed_precision=mixed or fsdp.MixedPrecision(half, half, half),
        )
        return made

    def _recompute(self, module: nn.Module, again: Any) -> None:
        kinds = tuple(again) if isinstance(again, set | list) else (again,)
        if not all(isinstance(each, type) for each in kinds):
            self.refuse("Fabric recomputes by a policy of the program's own")
        place: Any = importlib.import_module(
            "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"
        )
        for each in module.modules():
            if isinstance(each, kinds):
                place.checkpoint_wrapper(each)

    @property
    def _no_sums(self) -> Callable[..., Any]:
        def no_sums(fabric: Any, module: Any, enabled: bool = True) -> Any:
            is_off = enabled and hasattr(module, "no_sync")
            return module.no_sync() if is_off else contextlib.nullcontext()

        return no_sums

    @property
    def _products(self) -> Callable[..., Any]:
        @contextlib.contextmanager
        def inside(*words: Any, **named: Any) -> Iterator[None]:
            form, _, kind = self._precision.partition("-")
            before = torch.get_default_dtype()
            if kind == "true" and form != "32":
                torch.set_default_dtype(getattr(torch, _FORMATS[form]))
            try:
                yield
            finally:
                torch.set_default_dtype(before)

        return inside


def _ranks() -> int:
    world = torch.distributed
    return world.get_world_size() if world.is_initialized() else 1


def _full_name(precision: str) -> str:
    """As bf16-mixed, of any of its names."""
    if "-" in precision:
        return precision
    return f"{precision}-{'true' if precision in ('32', '64') else 'mixed'}"


def _nothing(*words: Any, **named: Any) -> None:
    pass


def _nowhere(*words: Any, **named: Any) -> Any:
    return contextlib.nullcontext()


def _given_back(fabric: Any, *values: Any, **named: Any) -> Any:
    return values[0] if len(values) == 1 else values
