"""One line from a model to a pipeline."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.utils._pytree import tree_map_only

from .. import _core, catalog
from .._core import Schedule
from . import guards
from .adapting import dealt_as_taken
from .agreeing import agree, everywhere, make_equal, must_be_alike, transfer_seconds
from .batches import inputs_of, micro_batches_of, rows_of
from .cutting import Skeleton, all_visiting, find_layers, whole_name, without_training
from .dealing import deal, deal_on
from .awaited import awaited_loss
from .explaining import explained
from .gradients import StepGradients
from .pipelines import stages_of
from .planning import Plan, best_of, parsed_bytes, published, searched, splits
from .pytorch_runtime import PytorchRuntime, installed_lanes, prepare
from .refusing import check_model
from .replaying import Clock, Replay, ReplayStage
from .tracing import trace
from .waiting import Waits, making


class Pipeline:
    """A model in a pipeline: cut at its layers, measured, dealt to stages, with a schedule searched for what it takes.

        pipe = Pipeline(model, example, loss_fn=loss_fn, target=target, memory="70GiB")
        optimizer = torch.optim.AdamW(pipe.parameters())
        loss = pipe.step(batch, target=targets)

    Every rank of the default group makes it, with the same model, and the model is then part of it. `module` has this
    rank's layers, under the names that they have in the model.
    """

    waits: Waits

    @making("Pipeline()")
    def __init__(
        self,
        model: nn.Module,
        example: Any,
        *,
        target: Any = None,
        loss_fn: Callable[[Any, Any], torch.Tensor] | None = None,
        devices: int | None = None,
        micro_batches: int | None = None,
        memory: int | str | None = None,
        optimizer_copies: float = 2,
        layers: Iterable[str] | None = None,
        schedule: str | Schedule | None = None,
        group: dist.ProcessGroup | None = None,
        data_group: dist.ProcessGroup | None = None,
        wrap: Callable[[nn.Module], nn.Module] | None = None,
        data_ranks: int = 1,
        sharding: str = "optimizer",
        device: torch.device | str | None = None,
        repeats: int = 3,
        budget: int = 1000,
    ) -> None:
        """
        example: one micro-batch of inputs, with a target as the loss has: a tensor or tuple, or a mapping of keyword
        inputs. loss_fn(output, target): the mean over a micro-batch; without it the model's output has a `loss`.
        devices: ranks of `group` (all). micro_batches: in a step (twice as many). memory: bytes that each device
        may hold, or "70GiB"; without it, as many activations as 1F1B holds. optimizer_copies: of the parameters, that the
        optimizer keeps. layers: names of layers or of lists of them (the outermost lists of modules).
        schedule: of the catalog by name, or one of your own, instead of a search. data_group: ranks with the same
        layers and other batches; gradients are their mean. wrap: fully_shard or the like, for the module of a stage;
        then data_ranks and sharding as in `pipeline`. device: where the layers of this rank will be (where the model is); a
        model in the host's memory visits it layer by layer, and may be larger than what it holds. repeats: measurements of each layer. budget: of the search.

        Raises ValueError for what cannot run, with the layer and the reason.
        """
        check_model(model)
        guards.must_have_no_parameters(loss_fn, besides=model.parameters())
        self.group, self.data_group = group, data_group
        count = dist.get_world_size(group)
        if devices is not None and devices != count:
            raise ValueError(f"devices is {devices}, and the group has {count} ranks")
        self.device = whole_name(torch.device(device) if device is not None else next(model.parameters()).device)
        self.micro_batches = micro_batches if micro_batches is not None else 2 * count
        self.memory, self._budget = parsed_bytes(memory), budget
        self._loss_fn, self._autocast = loss_fn, self._autocast_now()
        args, kwargs = self._moved(inputs_of(example))
        target = self._moved(target)
        must_be_alike((args, kwargs, target), group, "example")
        self._example, self._example_target = rows_of((args, kwargs)), rows_of(target)
        self._is_first = True
        for ranks in (group, data_group) if data_group is not None else (group,):
            make_equal(model, ranks, self.device)
        opened, found = find_layers(model, count, layers)
        with all_visiting(model, opened, found, self.device):
            expected = [self._example_loss(model, args, kwargs, target) for _ in range(2)]
        self.skeleton = Skeleton(model, opened, found, self.device)
        with self._context():
            self.trace = trace(self.skeleton, args, kwargs, repeats)
        agree(self.trace)
        self._fuses = (wrap is not None and sharding in ("weights", "full")) or bool(self.trace.whole_layers())
        how: dict[str, Any] = {
            "transfer": transfer_seconds(self.trace.widest(), group, self.device),
            "optimizer_copies": optimizer_copies,
            "fused": self._fuses,
        }
        if schedule is None:
            dealt = deal(self.trace, count, **how)
            if not dealt:
                raise ValueError(f"the model has too few layers for {count} devices: name what to cut in `layers`")
            self.plans = best_of(dealt, self.micro_batches, self.memory, budget, self._fuses)
        else:
            self.plans = [self._planned(schedule, count, how)]
        self._wrapped: dict[str, Any] = {
            "data_ranks": data_ranks,
            "sharding": "none" if wrap is None else sharding,
        }
        self.plan = self._runnable()
        self._build(wrap, data_ranks, sharding)
        self._must_be(expected, (args, kwargs), target)

    def _planned(self, schedule: str | Schedule, count: int, how: Mapping[str, Any]) -> Plan:
        name = schedule if isinstance(schedule, str) else "given"
        made = catalog.find(schedule)(count, self.micro_batches) if isinstance(schedule, str) else schedule
        if made.micro_batches != self.micro_batches or made.devices != count:
            raise ValueError(
                f"the schedule has {made.micro_batches} micro-batches on {made.devices} devices, "
                f"not {self.micro_batches} on {count}"
            )
        dealt = deal_on(self.trace, name, made.placement, **how)
        if dealt is None:
            raise ValueError(f"the model has too few layers for {made.placement.stage_count} stages")
        if self._fuses and splits(made):
            whose = ", ".join(self.trace.whole_layers()) or "stages that are gathered for each pass"
            raise ValueError(
                f"the schedule splits backwards, but those of {whose} are one piece (compiled, or checkpoints with use_reentrant)"
            )
        plan = Plan(name, dealt, _core.retime(made, dealt.costs))
        if self.memory is not None and max(plan.peak_memory()) > self.memory:
            raise ValueError(f"the schedule {name} takes {max(plan.peak_memory())} bytes, more than memory={self.memory}")
        return plan

    def _example_loss(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], target: Any) -> float:
        """Of the whole model, without random numbers. Raises ValueError for a loss that is none."""
        with without_training(model), torch.no_grad(), self._context():
            loss = self._loss(model(*args, **kwargs), target)
        self._loss_type = loss.dtype
        return loss.item()

    def _must_be(self, expected: list[float], example: Any, target: Any) -> None:
        """Raises ValueError if the pipeline does not compute the example's loss: something leaves a layer in secret.

        expected: of two runs, which tell how far they may be apart.
        """
        with without_training(self.skeleton.model), self._context(), torch.no_grad():
            m = self.micro_batches
            loss = self._run_pieces([example] * m, [target] * m, self._runtime.eval).item()
        if not math.isfinite(expected[0]):
            raise ValueError(f"the model's loss of the example is {expected[0]}: give an example with a finite one")
        noise = 1e-6 * abs(expected[0]) + 10 * abs(expected[0] - expected[1])
        near = everywhere(abs(loss - expected[0]) <= noise, all)
        if not near:
            raise ValueError(
                f"the pipeline's loss of the example is {loss}, and the model's {expected[0]}: it reads something from inside "
                "its layers that is not what they return, such as router logits, hidden states or attentions (switch that "
                "off), or what a layer has changed in place"
            )

    # -- what runs it

    def _build(self, wrap: Callable[[nn.Module], nn.Module] | None, data_ranks: int, sharding: str) -> None:
        """Keeps this rank's layers, frees the others, and makes the runtime."""
        cuts, rank = self.plan.dealt.cuts, dist.get_rank(self.group)
        mine = stages_of(self.plan.schedule, rank)
        self._replays = {
            s: Replay(self.skeleton, self.trace, cuts[s], cuts[s + 1], self._stage_loss, self._context) for s in mine
        }
        called = {id(call.layer) for call in self.trace.calls}
        here = {id(layer) for replay in self._replays.values() for layer in replay.layers()}
        free = {id(call.layer) for call in self.trace.calls if call.is_free}
        unused = {id(layer) for layer in self.skeleton.layers if id(layer) not in called and rank == 0}
        self._gradients = StepGradients(self.skeleton, self.plan.dealt, self.trace, self.group)
        for layer in self.skeleton.layers:
            if id(layer) in here | free | unused:
                layer.module.to(self.device)
            else:
                layer.forget()
        self.module = self.skeleton.part(layer for layer in self.skeleton.layers if id(layer) in here | free | unused)
        parts = {}
        for s, replay in self._replays.items():
            part = self.skeleton.part(replay.layers())
            part.__dict__["execute"] = replay
            parts[s] = part if wrap is None else wrap(part)
        sharded = any(isinstance(one, FSDPModule) for one in parts.values())
        if wrap is not None:
            self._gradients.refuse_shared_in_wrapped(sharded)
        self._parts, self._wrapped = parts, {"data_ranks": data_ranks, "sharding": sharding if sharded else "none"}
        self._start()

    def _lowered(self, plan: Plan) -> Any:
        return _core.lower(plan.schedule, lanes=installed_lanes(), **self._wrapped)

    def _runnable(self) -> Plan:
        """The shortest plan that PyTorch runs; where it runs none, the shortest published schedule on the same stages."""
        if found := [plan for plan in self.plans if not self._obstacle(plan)]:
            return found[0]
        others = [plan for one in self.plans for plan in published(one.dealt, self.micro_batches)]
        fitting = [plan for plan in others if self.memory is None or max(plan.peak_memory()) <= self.memory]
        whole = [plan for plan in fitting if not (self._fuses and splits(plan.schedule)) and not self._obstacle(plan)]
        return min(whole, key=lambda plan: plan.schedule.makespan, default=self.plans[0])

    def _obstacle(self, plan: Plan) -> str:
        """Why PyTorch cannot run the plan: it reduces the gradients of a sharded stage once, for example."""
        return self._lowered(plan).pytorch_obstacle()

    def _start(self) -> None:
        """The runtime for the plan's schedule."""
        self._clock = Clock(self.device)
        count = self.plan.schedule.stages
        stages = [
            ReplayStage(self._parts[s], replay, self._clock, s, count, self.device, self.group, self._loss_type)
            for s, replay in self._replays.items()
        ]
        program = self._lowered(self.plan)
        if obstacle := program.pytorch_obstacle():
            raise ValueError(f"PyTorch cannot run the schedule: {obstacle}")
        program.check()
        parts = dict(self._parts)
        guards.must_fit(parts, self._wrapped["sharding"])
        prepare(parts, program)
        self._runtime = PytorchRuntime(
            list(stages), program, lambda loss, _: loss, scale_grads=False, data_group=self.data_group, waits=self.waits
        )

    def _autocast_now(self) -> tuple[str, torch.dtype] | None:
        kind = self.device.type
        return (kind, torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None

    @contextlib.contextmanager
    def _context(self) -> Iterator[None]:
        """In which layers are called: in an evaluation, PyTorch's encoder would hand them nested tensors."""
        before = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        kind = self._autocast
        try:
            with contextlib.nullcontext() if kind is None else torch.autocast(kind[0], dtype=kind[1]):
                yield
        finally:
            torch.backends.mha.set_fastpath_enabled(before)

    def _loss(self, output: Any, target: Any) -> torch.Tensor:
        if self._loss_fn is not None:
            loss: object = self._loss_fn(output, target)
        else:
            loss = output if isinstance(output, torch.Tensor) else getattr(output, "loss", None)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise ValueError("without loss_fn, the model's output must have a `loss` of one number; its inputs may lack labels")
        return loss

    def _stage_loss(self, output: Any, micro_batch: int) -> torch.Tensor:
        loss = self._loss(output, self._targets[micro_batch])
        self._losses[micro_batch] = loss.detach()
        return torch.stack([loss.reshape(()) / self.micro_batches])

    # -- what a trainer calls

    def step(self, *batch: Any, target: Any = None, **inputs: Any) -> torch.Tensor:
        """Trains on a batch: gradients of its mean loss are added to the parameters' `.grad`. The mean loss, on all ranks.

        batch, target: as the example's, `micro_batches` times as long, on every rank of the group. An error leaves
        gradients as they were. Raises ValueError for shapes that are not the example's, and in the first step where ranks
        have other batches.
        """
        if not torch.is_grad_enabled():
            raise ValueError("step() trains, and gradients are off: call evaluate()")
        self._clock.clear()
        with self.waits.call("step()"), self._gradients.of_a_step(self.module):
            return self._run(batch, target, inputs, self._runtime.step)

    def evaluate(self, *batch: Any, target: Any = None, **inputs: Any) -> torch.Tensor:
        """The mean loss of a batch, without gradients, on all ranks."""
        with self.waits.call("evaluate()"), torch.no_grad():
            return self._run(batch, target, inputs, self._runtime.eval)

    def _run(self, batch: Any, target: Any, inputs: dict[str, Any], run: Callable[..., Any]) -> torch.Tensor:
        if self._autocast_now() != self._autocast:
            raise ValueError(f"autocast is {self._autocast_now()}, and was {self._autocast} when the pipeline was made")
        args, kwargs = inputs_of(batch[0] if len(batch) == 1 else batch)
        given = (args, {**kwargs, **inputs})
        m = self.micro_batches
        if self._is_first:
            must_be_alike((given, target), self.group, "batch")
        pieces = micro_batches_of(given, self._example, m, "the batch")
        targets = micro_batches_of(target, self._example_target, m, "the target")
        self._is_first = False
        return self._run_pieces(pieces, targets, run)

    def _run_pieces(self, pieces: list[Any], targets: list[Any], run: Callable[..., Any]) -> torch.Tensor:
        m = self.micro_batches
        self._losses: list[Any] = [None] * m
        pieces = [self._moved(piece) for piece in pieces]
        for replay in self._replays.values():
            replay.inputs = pieces
        self._targets = [self._moved(one) for one in targets]
        last = self.plan.schedule.placement.routes[0][-1]
        has_last = dist.get_rank(self.group) == last
        none = torch.autocast(self._autocast[0], enabled=False) if self._autocast else contextlib.nullcontext()
        with none:  # backwards run outside of it, as in a loop without a pipeline
            run(target=torch.zeros(m) if has_last else None, return_outputs=False)
        loss = torch.zeros((), dtype=torch.double, device=self.device)
        if has_last:
            loss = torch.stack([one.reshape(()) for one in self._losses]).double().mean()
        source = last if self.group is None else dist.get_global_rank(self.group, last)
        awaited = functools.partial(awaited_loss, self.plan.schedule.stages - 1, source)
        self.waits.start(dist.broadcast, loss, src=source, group=self.group, awaited=awaited)
        return loss

    def _moved(self, tree: Any) -> Any:
        return tree_map_only(torch.Tensor, lambda x: x.to(self.device), tree)

    def parameters(self) -> Iterable[nn.Parameter]:
        """This rank's."""
        return self.module.parameters()

    def named_parameters(self) -> Iterable[tuple[str, nn.Parameter]]:
        """This rank's, under the model's names."""
        return self.module.named_parameters()

    def zero_grad(self) -> None:
        self.module.zero_grad(set_to_none=True)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> torch.Tensor:
        """Clips gradients by the norm of those of all stages, as torch.nn.utils.clip_grad_norm_ does, and returns it.

        Every rank of the group has to call this. A parameter that several stages have counts once.
        """
        return self._gradients.clip(self.module, max_norm, norm_type, self.device)

    def train(self, mode: bool = True) -> Pipeline:
        self.skeleton.model.train(mode)
        return self

    def eval(self) -> Pipeline:
        return self.train(False)

    def state_dict(self) -> dict[str, Any]:
        """This rank's part of the model's state, under the model's names: those of all ranks are the model's."""
        return self.module.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """From a state of the whole model. Of parameters that are shared, one name is enough."""
        found = dict(state)
        for names in self._gradients.shared_names():
            known = next((found[name] for name in names if name in found), None)
            if known is not None:
                for name in names:
                    found.setdefault(name, known)
        self.module.load_state_dict({name: found[name] for name in self.module.state_dict() if name in found})

    # -- what a reader asks

    def explain(self) -> str:
        """Stages and layers, what goes over the cuts, the schedule as a picture, its bound, memory, and alternatives."""
        return explained(self)

    def adapt(self) -> bool:
        """Searches again for what the passes of the last step took; whether that found a better schedule, which runs now.

        Layers, parameters and the optimizer stay where they are. Every rank of the default group has to call this.
        """
        dealt = dealt_as_taken(self.plan.dealt, self._clock, self._fuses)
        before = Plan(self.plan.name, dealt, _core.retime(self.plan.schedule, dealt.costs))
        after = searched(dealt, self.micro_batches, self.memory, self._budget, self._fuses)
        better = after.schedule.makespan < before.schedule.makespan and not self._obstacle(after)
        before.bound = after.bound
        self.plan = after if better else before
        self.plans = [self.plan]
        if better:
            self._start()
        return better
