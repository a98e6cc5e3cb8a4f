"""One line from a model to a pipeline."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
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
from .agreeing import agree, make_equal, transfer_seconds
from .batches import inputs_of, micro_batches_of, rows_of
from .cutting import Layer, Skeleton, all_visiting, find_layers, whole_name
from .dealing import deal, deal_on, places_to_cut
from .awaited import awaited_loss
from .explaining import explained
from .generators import Streams, kept_generators
from .gradients import StepGradients
from .modes import DIFFERENT_EXAMPLE, Meeting, Mode, Modes, must_be_alike, number_of, numbers_of, sum_of
from .optimizers import OptimizerState, StateGuard, gathered_state, must_decide_together
from .pipelines import stages_of
from .planning import Plan, best_of, parsed_bytes, published, searched, splits
from .pytorch_runtime import PytorchRuntime, installed_lanes, prepare
from .refusing import check_model
from .replaying import Clock, Replay, ReplayStage
from .tracing import Trace, Tracer, measured, shared, traced
from .unseen import UnseenValue
from .untouched import State
from .waiting import Waits, making


@dataclass
class _Running:
    """What runs in one mode of the model."""

    trace: Trace
    plan: Plan
    replays: dict[int, Replay]
    runtime: PytorchRuntime


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
        seed: int | None = None,
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
        model in the host's memory visits it layer by layer, and may be larger than what it holds. seed: of all random
        numbers (the first rank's torch.initial_seed()). repeats: measurements of each layer. budget: of the search.

        Raises ValueError for what cannot run, with the layer and the reason.
        """
        check_model(model)
        guards.must_have_no_parameters(loss_fn, besides=model.parameters())
        must_decide_together(loss_fn, model)
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
        self._meeting = Meeting(group)
        self._meeting.must_agree({DIFFERENT_EXAMPLE: sum_of((args, kwargs, target))})
        self._example, self._example_target = rows_of((args, kwargs)), rows_of(target)
        for ranks in (group, data_group) if data_group is not None else (group,):
            make_equal(model, ranks, self.device)
        given = torch.initial_seed() if seed is None else seed
        agreed = self._meeting.gather([given % (1 << 62)])[0][0]
        self._streams = Streams(agreed, 0 if data_group is None else dist.get_rank(data_group), self.device)
        opened, found = find_layers(model, count, layers)
        with all_visiting(model, opened, found, self.device), kept_generators(self.device):
            expected = self._example_losses(model, opened, found, args, kwargs, target)
            self.skeleton = Skeleton(model, opened, found, self.device)
            self._modes = Modes(self.skeleton)
            self._mode = self._modes.now((args, kwargs))
            before = self._state_of_layers()
            with self._context():
                tracer = Tracer(self.skeleton.layers, self._streams, measured(repeats))
                self.trace, _ = traced(self.skeleton, args, kwargs, tracer)
            before.restore()
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
        self._steps = 0
        self._by_mode = {self._mode: self._start(self.trace, self.plan)}
        self._run_as(self._by_mode[self._mode])
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

    def _example_losses(
        self, model: nn.Module, opened: set[str], found: dict[str, nn.Module], args: Any, kwargs: Any, target: Any
    ) -> list[float]:
        """Two, of the whole model as it is set. Raises ValueError for a loss that is none, and for a model whose own forward
        leaves something behind each time that it runs: every stage runs it."""
        modules = dict(model.named_modules(remove_duplicate=False))
        layers = State(found.items())
        losses = []
        for turn in range(2):
            own = State(((name, modules[name]) for name in opened), beyond=(nn.Module,))
            for name in opened:
                own.look_at_globals(modules[name])
            with torch.no_grad(), self._context(), self._streams.in_whole_model(found):
                given_args, given_kwargs = tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
                loss = self._loss(model(*given_args, **given_kwargs), target)
            self._loss_type = loss.dtype
            losses.append(loss.item())
            layers.restore()
        if written := layers.changed_weights():
            raise ValueError(f"a forward of the model writes to its weights ({written[0]}): a rank has only its own")
        if changed := own.changed():
            kind = "buffer '" if changed[0] in dict(model.named_buffers()) else "'"
            raise ValueError(
                f"the model's own forward changes the {kind}{changed[0]}', and every stage runs that forward: let a layer change it"
            )
        return losses

    def _state_of_layers(self) -> State:
        return State((layer.name, layer.module) for layer in self.skeleton.layers)

    def _must_be(self, expected: list[float], example: Any, target: Any) -> None:
        """Raises ValueError if the pipeline does not compute the example's loss: something leaves a layer in secret.

        expected: of two runs, which tell how far they may be apart.
        """
        before = self._state_of_layers()
        with self._context(), torch.no_grad(), kept_generators(self.device):
            m, self._streams.step = self.micro_batches, 0
            self._run_pieces([example] * m, [target] * m, self._runtime.eval)
        before.restore()
        last = self._last_rank()
        told = [self._losses[0].item() if dist.get_rank(self.group) == last else None]
        dist.broadcast_object_list(told, src=self._global_rank(last), group=self._meeting.group)
        found: Any = told[0]
        if not math.isfinite(expected[0]):
            raise ValueError(f"the model's loss of the example is {expected[0]}: give an example with a finite one")
        noise = 1e-6 * abs(expected[0]) + 10 * abs(expected[0] - expected[1])
        if not abs(found - expected[0]) <= noise:
            raise ValueError(
                f"the pipeline's loss of the example is {found}, and the model's {expected[0]}: it reads something from inside "
                "its layers that is not what they return, such as router logits, hidden states or attentions (switch that "
                "off), or what a layer has changed in place; or it counts between its layers, or draws from a generator of its own"
            )

    # -- what runs it

    def _build(self, wrap: Callable[[nn.Module], nn.Module] | None, data_ranks: int, sharding: str) -> None:
        """Keeps this rank's layers, frees the others, and makes the runtime."""
        cuts, rank = self.plan.dealt.cuts, dist.get_rank(self.group)
        replays = self._replays_of(self.trace, cuts)
        self._stages_of: dict[int, list[int]] = {}
        """By layer."""
        for k, call in enumerate(self.trace.calls):
            if not call.is_free:
                self._stages_of.setdefault(id(call.layer), []).append(self.plan.dealt.stage_of(k))
        self._must_keep_order(self.trace, self.plan)
        called = {id(call.layer) for call in self.trace.calls}
        here = {id(layer) for replay in replays.values() for layer in replay.layers()}
        free = {id(call.layer) for call in self.trace.calls if call.is_free}
        unused = {id(layer) for layer in self.skeleton.layers if id(layer) not in called and rank == 0}
        self._gradients = StepGradients(self.skeleton, self.plan.dealt, self.trace, self.group)
        for layer in self.skeleton.layers:
            if id(layer) in here | free | unused:
                layer.module.to(self.device)
            else:
                layer.forget()
        self.module = self.skeleton.part(layer for layer in self.skeleton.layers if id(layer) in here | free | unused)
        self._inner = {s: self.skeleton.part(replay.layers()) for s, replay in replays.items()}
        parts = {s: part if wrap is None else wrap(part) for s, part in self._inner.items()}
        sharded = any(isinstance(one, FSDPModule) for one in parts.values())
        if wrap is not None:
            self._gradients.refuse_shared_in_wrapped(sharded)
        self._parts, self._wrapped = parts, {"data_ranks": data_ranks, "sharding": sharding if sharded else "none"}
        first = self._gradients.first_names()
        self._guard = StateGuard({p: first.get(p, name) for name, p in self.named_parameters()})
        weakref.finalize(self, self._guard.close)

    def _replays_of(self, trace: Trace, cuts: list[int]) -> dict[int, Replay]:
        """Of this rank's stages."""
        return {
            s: Replay(self.skeleton, trace, cuts[s], cuts[s + 1], self._stage_loss, self._context, self._streams)
            for s in stages_of(self.plan.schedule, dist.get_rank(self.group))
        }

    def _must_keep_order(self, trace: Trace, plan: Plan) -> None:
        """Raises ValueError if a layer that counts calls, or the like, would come to them in another order or on several
        stages."""
        written = {id(call.layer): call for call in trace.calls if call.layer.written}
        for key, call in written.items():
            name = f"{call.layer.name} changes {min(call.layer.written)}"
            if len(set(self._stages_of[key])) > 1:
                raise ValueError(f"{name} in its forward and is called in several stages, each of which would have its own")
        for line in plan.schedule.order if written else []:
            last: dict[int, int] = {}
            for one in line:
                if one.kind == "forward" and one.micro_batch < last.get(one.stage, 0):
                    raise ValueError(f"{name} in its forward, and the schedule's forwards do not come in the micro-batches' order")
                last[one.stage] = one.micro_batch if one.kind == "forward" else last.get(one.stage, 0)

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

    def _start(self, trace: Trace, plan: Plan) -> _Running:
        """The runtime for the plan's schedule."""
        self._clock = Clock(self.device)
        count = plan.schedule.stages
        replays = self._replays_of(trace, plan.dealt.cuts)
        stages = [
            ReplayStage(self._parts[s], replay, self._clock, s, count, self.device, self.group, self._loss_type)
            for s, replay in replays.items()
        ]
        program = self._lowered(plan)
        if obstacle := program.pytorch_obstacle():
            raise ValueError(f"PyTorch cannot run the schedule: {obstacle}")
        program.check()
        parts = dict(self._parts)
        guards.must_fit(parts, self._wrapped["sharding"])
        prepare(parts, program)
        runtime = PytorchRuntime(
            list(stages), program, lambda loss, _: loss, scale_grads=False, data_group=self.data_group, waits=self.waits
        )
        return _Running(trace, plan, replays, runtime)

    def _run_as(self, running: _Running) -> None:
        self._running = running
        self.trace, self.plan, self._replays, self._runtime = running.trace, running.plan, running.replays, running.runtime
        for s, replay in running.replays.items():
            self._inner[s].__dict__["execute"] = replay

    def _changed_mode(self, mode: Mode, given: Any, target: Any) -> None:
        """Traces the model as it is set now: each rank runs its own layers. What goes over the cuts may be another.

        Raises ValueError where layers would be called elsewhere than they are.
        """
        before = self._running
        if mode not in self._by_mode:
            stages = _StagesOfCalls(self._stages_of)
            placement = self.plan.schedule.placement.routes[0]
            compute = shared(self.trace, lambda at, layer: self._global_rank(placement[stages.of(at, layer)]), self._meeting.group)
            layers, loss = self._state_of_layers(), torch.zeros(())
            with kept_generators(self.device), self._context():
                self._streams.step = self._streams.micro_batch = 0
                trace, output = traced(self.skeleton, *given, Tracer(self.skeleton.layers, self._streams, compute))
                with torch.no_grad():
                    loss = self._loss(output, target)
            layers.restore()
            self._meeting.must_agree({"rank {other} follows other values between layers than rank 0": number_of(trace.summary())})
            dealt = dataclasses.replace(self.plan.dealt, cuts=stages.cuts(trace, self.plan.schedule.stages))
            plan = dataclasses.replace(self.plan, dealt=dealt)
            self._must_keep_order(trace, plan)
            running = self._start(trace, plan)
            self._run_as(running)
            try:
                self._must_be([loss.item(), loss.item()], given, target)
            except BaseException:
                self._run_as(before)
                raise
            self._by_mode[mode] = running
        self._run_as(self._by_mode[mode])
        self._mode = mode

    def _last_rank(self) -> int:
        return int(self.plan.schedule.placement.routes[0][-1])

    def _global_rank(self, rank: int) -> int:
        return rank if self.group is None else dist.get_global_rank(self.group, rank)

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
        gradients, and what layers count, as they were. Raises ValueError on all ranks for shapes that are not the example's, and
        where ranks have other batches or set the model otherwise.
        """
        if not torch.is_grad_enabled():
            raise ValueError("step() trains, and gradients are off: call evaluate()")
        self._clock.clear()
        with self._gradients.of_a_step(self.module), self._undone():
            return self._run(batch, target, inputs, trains=True)

    def evaluate(self, *batch: Any, target: Any = None, **inputs: Any) -> torch.Tensor:
        """The mean loss of a batch, without gradients, on all ranks."""
        with torch.no_grad(), self._undone():
            return self._run(batch, target, inputs, trains=False)

    def trace_again(self, *batch: Any, target: Any = None, **inputs: Any) -> None:
        """Follows the first micro-batch of a batch through the model as it is now. Every rank has to call this.

        A change of train() and eval(), of a flag, or of an input that is no tensor is seen by itself.
        """
        pieces, targets = self._pieces(batch, target, inputs, trains=False)
        self._by_mode.clear()
        self._changed_mode(self._mode, self._moved(pieces[0]), self._moved(targets[0]))

    @contextlib.contextmanager
    def _undone(self) -> Iterator[None]:
        """What layers count is as it was, where a step fails."""
        written = {name.rpartition(".")[0] for layer in self.skeleton.layers for name in layer.written}
        counting = [
            (f"{layer.name}.{name}" if name else layer.name, one)
            for layer in self.skeleton.layers
            if layer.written and layer.is_here
            for name, one in layer.module.named_modules()
            if (f"{layer.name}.{name}" if name else layer.name) in written
        ]
        before = State(counting)
        try:
            yield
        except BaseException:
            before.restore()
            raise

    def _pieces(self, batch: Any, target: Any, inputs: dict[str, Any], trains: bool) -> tuple[list[Any], list[Any]]:
        """The micro-batches, and their targets. Raises ValueError on all ranks where one would do something else."""
        failed: Exception | None = None
        given: Any = None
        mode: Mode = ()
        try:
            if self._autocast_now() != self._autocast:
                raise ValueError(f"autocast is {self._autocast_now()}, and was {self._autocast} when the pipeline was made")
            args, kwargs = inputs_of(batch[0] if len(batch) == 1 else batch)
            given, m = (args, {**kwargs, **inputs}), self.micro_batches
            pieces = micro_batches_of(given, self._example, m, "the batch")
            targets = micro_batches_of(target, self._example_target, m, "the target")
            mode = self._modes.now(given)
        except Exception as error:
            failed = error
        mine = numbers_of(mode, trains, None if failed is not None else (given, target))
        everyone = self._meeting.gather([int(failed is not None), *mine, *self._gradients.flags()])
        if failed is not None:
            raise failed
        if (other := next((rank for rank, of in enumerate(everyone) if of[0]), None)) is not None:
            raise ValueError(f"rank {other} of the pipeline refuses its batch, and says why: this rank was given another")
        must_be_alike([of[1:3] for of in everyone])
        if trains:
            self._gradients.must_be_alike([of[3:] for of in everyone])
        if mode != self._mode:
            self._changed_mode(mode, self._moved(pieces[0]), self._moved(targets[0]))
        return pieces, targets

    def _run(self, batch: Any, target: Any, inputs: dict[str, Any], trains: bool) -> torch.Tensor:
        pieces, targets = self._pieces(batch, target, inputs, trains)
        own = self._modes.own_attributes()
        self._streams.step = self._steps
        with kept_generators(self.device):
            loss = self._run_pieces(pieces, targets, self._runtime.step if trains else self._runtime.eval)
        changed = [name for name, now in self._modes.own_attributes().items() if now != own[name]]
        self._must_have_run_alike(changed)
        self._steps += trains
        return loss

    def _must_have_run_alike(self, changed: list[str]) -> None:
        """Raises UnseenValue on all ranks if the model's own forward was not the same on all stages."""
        stages = self.plan.schedule.stages
        sums = [0] * (2 * stages)
        for s, replay in self._replays.items():
            for k in range(self.micro_batches):
                for side in range(2):
                    sums[2 * s + side] = (sums[2 * s + side] * 1_000_003 + replay.numbers[k][side]) % (1 << 61)
        present = self._gradients.present()
        found = self._meeting.add([*sums, *present, int(bool(changed))])
        self._gradients.expect(found[2 * stages : -1])
        if found[-1]:
            raise UnseenValue(
                f"the model's own forward changes attributes of '{changed[0]}', and every stage runs it: let a layer change them"
                if changed
                else "the model's own forward changes attributes on another rank, which says which"
            )
        for s in range(1, stages):
            if found[2 * s] != found[2 * s - 1]:
                raise UnseenValue(
                    f"the model's own forward computes with other numbers on stage {s} than on stage {s - 1}: every stage runs it, "
                    "and something there counts its calls, or draws from a generator of its own. Let a layer do that"
                )

    def _run_pieces(self, pieces: list[Any], targets: list[Any], run: Callable[..., Any]) -> torch.Tensor:
        m = self.micro_batches
        self._losses: list[Any] = [None] * m
        pieces = [self._moved(piece) for piece in pieces]
        for replay in self._replays.values():
            replay.inputs = pieces
        self._targets = [self._moved(one) for one in targets]
        last = self._last_rank()
        has_last = dist.get_rank(self.group) == last
        none = torch.autocast(self._autocast[0], enabled=False) if self._autocast else contextlib.nullcontext()
        with none:  # backwards run outside of it, as in a loop without a pipeline
            run(target=torch.zeros(m) if has_last else None, return_outputs=False)
        loss = torch.zeros((), dtype=torch.double, device=self.device)
        if has_last:
            loss = torch.stack([one.reshape(()) for one in self._losses]).double().mean()
        source = self._global_rank(last)
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

    @contextlib.contextmanager
    def same_numbers(self, model: nn.Module, micro_batch: int, step: int | None = None) -> Iterator[None]:
        """Inside, one forward of a model that is not in a pipeline, made like this one's, draws the random numbers that this
        micro-batch drew in a step (the last one; they count from 0)."""
        modules = dict(model.named_modules(remove_duplicate=False))
        at = self._streams.step, self._streams.micro_batch
        self._streams.step, self._streams.micro_batch = (self._steps - 1 if step is None else step), micro_batch
        try:
            with self._streams.in_whole_model({name: modules[name] for name in self.skeleton.places}):
                yield
        finally:
            self._streams.step, self._streams.micro_batch = at

    def whole_state_dict(self) -> dict[str, Any]:
        """The whole model's state in the hosts' memory, on the first rank; nothing on others. Every rank has to call this."""
        return gathered_state(self.module, self._meeting.group)

    def save_pretrained(self, folder: str, **options: Any) -> None:
        """The whole model, as `transformers` saves it. Every rank of the group has to call this; the first one writes."""
        state = self.whole_state_dict()
        if dist.get_rank(self.group) == 0:
            model: Any = self.skeleton.model
            model.save_pretrained(folder, state_dict=state, **options)
        dist.barrier(group=self._meeting.group)

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> OptimizerState:
        """This rank's, by the names of the whole model, for `torch.distributed.checkpoint`: layers may be dealt otherwise
        when it is loaded."""
        return OptimizerState(self.module, optimizer, self._gradients.shared_names())

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
            self._must_keep_order(self.trace, self.plan)
            self._by_mode = {self._mode: self._start(self.trace, self.plan)}
        self._run_as(dataclasses.replace(self._by_mode[self._mode], plan=self.plan))
        return better


class _StagesOfCalls:
    """Which stage each call of a layer is in, where layers stay where they are."""

    def __init__(self, of_layers: Mapping[int, list[int]]) -> None:
        self._of_layers = of_layers
        self._of_calls: dict[int, int] = {}
        self._now = 0

    def of(self, at: int, layer: Layer) -> int:
        """Calls come in their order. A layer without parameters is where the model comes to it."""
        able = [s for s in self._of_layers.get(id(layer), []) if s >= self._now]
        if not able and any(True for _ in layer.module.parameters()):
            raise ValueError(
                f"{layer.name} is called now after layers of stage {self._now}, and was not when the pipeline was made: make it of "
                "the model as it is trained"
            )
        self._now = min(able, default=self._now)
        self._of_calls[at] = self._now
        return self._now

    def cuts(self, trace: Trace, stages: int) -> list[int]:
        """Before which calls stages begin. Raises ValueError for one that would be empty, or get nothing to train on."""
        found = [0]
        for s in range(1, stages):
            begins = next((at for at, stage in self._of_calls.items() if stage == s), None)
            if begins is None:
                raise ValueError(f"no layer of stage {s} is called now: make the pipeline of the model as it is trained")
            if begins not in places_to_cut(trace):
                raise ValueError(f"stage {s} cannot begin at {trace.calls[begins].layer.name} as the model is set now")
            found.append(begins)
        return [*found, len(trace.calls)]
