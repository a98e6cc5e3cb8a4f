"""Wrappers that share a module's state among ranks, or recompute parts of it: each is
recorded, and the module stays as it is."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn


class Wrappers:
    """What wrapped which module. `refuse` ends the program with a reason."""

    def __init__(self, refuse: Callable[[str], None]) -> None:
        self.refuse = refuse
        self.kind = ""  # ddp, fsdp or fully_shard
        self.options: dict[str, Any] = {}
        self.units: set[int] = set()  # modules whose weights are gathered at once
        self.recomputed: list[set[int]] = []  # modules of each recomputed call
        self.sums = True  # whether a backward sums over ranks
        self.is_compiled = False
        self.products = ""  # the format that a wrapper's forward makes
        self._depth = 0

    def hold(self) -> None:
        """Holds all of them."""
        self._hold_ddp()
        self._hold_fsdp()
        self._hold_fully_shard()
        self._hold_recomputation()
        self._hold_compile()
        self._hold_others()

    def called(self, module: nn.Module) -> None:
        """A module runs."""
        if self._depth:
            self.recomputed[-1].add(id(module))

    def _wrap(self, kind: str, options: dict[str, Any]) -> None:
        if self.kind not in ("", kind):
            self.refuse(f"{self.kind} and {kind} in one program")
        self.kind = kind
        self.options.update(options)

    @contextlib.contextmanager
    def _no_sums(self, *words: Any) -> Iterator[None]:
        before, self.sums = self.sums, False
        try:
            yield
        finally:
            self.sums = before

    def _hold_ddp(self) -> None:
        kind: Any = nn.parallel.DistributedDataParallel

        def begin(self_: Any, module: nn.Module, *words: Any, **named: Any) -> None:
            nn.Module.__init__(self_)
            self_.module = module
            vars(self_).update(require_backward_grad_sync=True)
            size = named.get("bucket_cap_mb")
            self._wrap("ddp", {"bucket_cap_mb": 25 if size is None else size})

        def sums(self_: Any, name: str, value: Any) -> None:
            if name == "require_backward_grad_sync":
                self.sums = bool(value)
            nn.Module.__setattr__(self_, name, value)

        kind.__init__ = begin
        kind.__setattr__ = sums
        kind.forward = lambda self_, *words, **named: self_.module(*words, **named)
        kind.no_sync = self._no_sums
        kind.register_comm_hook = lambda *words, **named: self.refuse(
            "a hook of its own sums gradients"
        )
        kind.train = nn.Module.train

    def _hold_fsdp(self) -> None:
        fsdp: Any = importlib.import_module("torch.distributed.fsdp")
        kind = fsdp.FullyShardedDataParallel

        def begin(self_: Any, module: nn.Module, *words: Any, **named: Any) -> None:
            names = "process_group sharding_strategy cpu_offload auto_wrap_policy "
            names += "backward_prefetch mixed_precision"
            named = {**dict(zip(names.split(), words)), **named}
            nn.Module.__init__(self_)
            self_._fsdp_wrapped_module = module
            self.units.add(id(module))
            self._add_units(module, named.get("auto_wrap_policy"))
            self._wrap("fsdp", _fsdp_options(named))

        kind.__init__ = begin
        kind.module = property(lambda self_: self_._fsdp_wrapped_module)
        kind.forward = lambda self_, *words, **named: self_.module(*words, **named)
        kind.no_sync = self._no_sums
        kind.clip_grad_norm_ = lambda *words, **named: torch.zeros(())
        kind.__getattr__ = _attribute_of_inner
        kind.__getitem__ = lambda self_, key: self_.module[key]
        for name in ("named_parameters", "named_buffers", "apply"):
            setattr(kind, name, getattr(nn.Module, name))
        nothing = contextlib.nullcontext
        for name in ("summon_full_params", "state_dict_type"):
            setattr(kind, name, staticmethod(lambda *w, **n: nothing()))

    def _add_units(self, module: nn.Module, policy: Any) -> None:
        if policy is None:
            return
        if hasattr(policy, "_run_policy"):
            found = policy._run_policy(module, set(), {})
            self.units.update(map(id, found))
            return
        for each in module.modules():
            size = sum(one.numel() for one in each.parameters())
            with contextlib.suppress(TypeError):
                if policy(module=each, recurse=False, nonwrapped_numel=size):
                    self.units.add(id(each))

    def _hold_fully_shard(self) -> None:
        fsdp = importlib.import_module("torch.distributed.fsdp")
        if not hasattr(fsdp, "FSDPModule"):  # before PyTorch 2.6
            return
        nothing = dict.fromkeys(_OF_FSDP2, lambda *words, **named: None)
        own = {
            **nothing,
            "set_requires_gradient_sync": self._set_sums,
            "__new__": lambda kind, *words, **named: nn.Module.__new__(kind),
        }
        sharded = type("FSDPModule", (fsdp.FSDPModule,), own)

        def fully_shard(modules: Any, *words: Any, **named: Any) -> Any:
            for each in modules if isinstance(modules, list | tuple) else [modules]:
                self.units.add(id(each))
                kind = type(each)
                each.__class__ = type(kind.__name__, (sharded, kind), {})
            self._wrap("fully_shard", self._fully_shard_options(named))
            return modules

        for place in ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"):
            with contextlib.suppress(ImportError):
                vars(importlib.import_module(place))["fully_shard"] = fully_shard

    @property
    def _set_sums(self) -> Callable[..., None]:
        def told(module: nn.Module, value: bool, **named: Any) -> None:
            self.sums = value

        return told

    def _fully_shard_options(self, named: dict[str, Any]) -> dict[str, Any]:
        mesh, policy = named.get("mesh"), named.get("mp_policy")
        made: dict[str, Any] = {}
        if mesh is not None and mesh.ndim > 2:
            self.refuse("fully_shard over a mesh of more than two dimensions")
        if mesh is not None and mesh.ndim == 2:
            made["shard_ranks"] = int(mesh.size(1))
        made["keeps"] = named.get("reshard_after_forward") is False
        made["weights"] = _name(getattr(policy, "param_dtype", None))
        made["sums"] = _name(getattr(policy, "reduce_dtype", None))
        offload = type(named.get("offload_policy")).__name__
        made["offloads"] = offload == "CPUOffloadPolicy"
        return made

    def _hold_recomputation(self) -> None:
        place: Any = importlib.import_module("torch.utils.checkpoint")

        def checkpoint(function: Any, *words: Any, **named: Any) -> Any:
            if named.pop("context_fn", None) is not None:
                self.refuse("a policy of its own chooses operations to recompute")
            for name in _OF_CHECKPOINT:
                named.pop(name, None)
            self.recomputed.append(set())
            self._depth += 1
            try:
                return function(*words, **named)
            finally:
                self._depth -= 1

        def sequence(functions: Any, segments: int, value: Any, **named: Any) -> Any:
            listed = list(functions)
            size = len(listed) // segments
            for at in range(segments):
                last = len(listed) if at == segments - 1 else (at + 1) * size
                part = listed[at * size : last]
                value = checkpoint(_in_turn(part), value)
            return value

        place.checkpoint = checkpoint
        place.checkpoint_sequential = sequence
        wrappers: Any = importlib.import_module(
            "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"
        )

        def wrap(module: nn.Module, *words: Any, **named: Any) -> nn.Module:
            if named.get("context_fn") is not None:
                self.refuse("a policy of its own chooses operations to recompute")
            forward = module.forward
            module.forward = functools.partial(checkpoint, forward)
            return module

        wrappers.checkpoint_wrapper = wrap
        wrappers.offload_wrapper = lambda module: self.refuse(
            "it moves activations to the host"
        )

    def _hold_compile(self) -> None:
        def compiled(model: Any = None, **named: Any) -> Any:
            self.is_compiled = True
            return (lambda each: each) if model is None else model

        torch.compile = compiled
        nn.Module.compile = lambda *words, **named: compiled(words[0])  # type: ignore

    def _hold_others(self) -> None:
        """Engines that divide a step otherwise."""
        names = {
            "torch.distributed.tensor.parallel": ("parallelize_module",),
            "torch.distributed.pipelining": ("PipelineStage", "pipeline"),
            "torch.distributed.tensor.experimental": ("context_parallel",),
            "torch.distributed.optim": ("ZeroRedundancyOptimizer",),
        }
        for place, each in names.items():
            with contextlib.suppress(ImportError):
                found = importlib.import_module(place)
                for name in each:
                    vars(found)[name] = self._other(name)

    def _other(self, name: str) -> Callable[..., None]:
        def told(*words: Any, **named: Any) -> None:
            self.refuse(f"it calls {name}, which is not read")

        return told


_OF_FSDP2 = """
    set_reshard_after_backward set_is_last_backward set_modules_to_forward_prefetch
    set_modules_to_backward_prefetch set_reshard_after_forward unshard reshard
    set_requires_all_reduce set_gradient_divide_factor set_unshard_in_backward
""".split()
_OF_CHECKPOINT = (
    "use_reentrant preserve_rng_state determinism_check debug early_stop".split()
)


def _in_turn(functions: list[Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for each in functions:
            value = each(value)
        return value

    return run


def _attribute_of_inner(self: Any, name: str) -> Any:
    try:
        return nn.Module.__getattr__(self, name)
    except AttributeError:
        if name == "_fsdp_wrapped_module":
            raise
        return getattr(self._fsdp_wrapped_module, name)


def _name(form: Any) -> str:
    """Of a format; empty for none."""
    return "" if form is None else str(form).removeprefix("torch.")


def _fsdp_options(named: dict[str, Any]) -> dict[str, Any]:
    strategy, mixed = named.get("sharding_strategy"), named.get("mixed_precision")
    mesh, offload = named.get("device_mesh"), named.get("cpu_offload")
    made: dict[str, Any] = {
        "strategy": strategy.name if strategy is not None else "FULL_SHARD",
        "weights": _name(getattr(mixed, "param_dtype", None)),
        "sums": _name(getattr(mixed, "reduce_dtype", None)),
        "offloads": bool(getattr(offload, "offload_params", offload)),
    }
    if mesh is not None and mesh.ndim == 2:
        made["shard_ranks"] = int(mesh.size(1))
    elif named.get("process_group") is not None:
        made["has_groups"] = True
    return made
