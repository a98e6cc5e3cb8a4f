"""Makes a pipeline of a model in one line."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.utils._pytree import tree_leaves, tree_map_only

from .. import _core, catalog
from .._core import Schedule
from ..certificates import must_be_certified
from . import guards
from .agreement import agree, make_equal, transfer_seconds
from .batches import Example, inputs_of
from .costs import dealt_as_taken
from .explanation import explained
from .first_step import some
from .generators import RandomState, Streams, kept_generators
from .gradients import StepGradients
from .layers import Skeleton, all_visiting, find_layers, whole_name
from .layout import must_be_laid_out, parameters_of
from .meeting import Meeting
from .modes import DIFFERENT_EXAMPLE, Modes, sum_of
from .optimizers import OptimizerState, StateGuard, gathered_state, must_decide_together
from .partition import deal, deal_on
from .pipelines import must_be_runtime
from .plans import Plan, parsed_bytes, searched
from .restrictions import check_model
from .state import State
from .tracer import Tracer, measured, traced
from .trials import Trials
from .unpiped import meta_like, trained_unpiped
from .waits import making


class Pipeline(Trials):
    """A model that is cut at its layers, measured, and run under a searched schedule.

        pipe = Pipeline(model, example, loss_fn=loss_fn, target=target, memory="70GiB")
        optimizer = torch.optim.AdamW(pipe.parameters())
        loss = pipe.step(batch, target=targets)

    Every rank of the default group makes it, with the same model, which is then part of
    it. `module` has this rank's layers, under their names in the model.

    Args:
        model (nn.Module): The whole model.
        example (Any): One micro-batch of inputs: a tensor or tuple, or a mapping of
            keyword inputs.
        target (Any, optional): The example's target, if the loss takes one.
        loss_fn (Callable, optional): Takes output and target of a micro-batch, and
            gives their mean loss. Without it the model's output has a `loss`.
        devices (int, optional): Number of ranks in `group`. Default: all of them.
        micro_batches (int, optional): Number in a step. Default: twice the ranks.
        memory (int or str, optional): Limit of each device in bytes, or as "70GiB".
            Default: as many activations as 1F1B holds.
        optimizer_copies (float): Size of the optimizer's state, in multiples of the
            trained parameters. Default: 2.
        layers (iterable of str, optional): Names of layers or of lists of them.
            Default: the outermost lists of modules.
        schedule (str or Schedule, optional): A name of the catalog, or a schedule,
            instead of a search.
        group (ProcessGroup, optional): The ranks of the pipeline. Default: all.
        data_group (ProcessGroup, optional): Ranks with the same layers and other
            batches; gradients are averaged.
        wrap (Callable, optional): fully_shard or the like, applied to the module of
            each stage.
        data_ranks (int): With `wrap`, as in `pipeline`. Default: 1.
        sharding (str): With `wrap`, as in `pipeline`. Default: ``optimizer``.
        device (torch.device or str, optional): Device of this rank's layers; a model in
            host memory visits it layer by layer, and may be larger than the device's
            memory. Default: the model's.
        seed (int, optional): Seed of all random numbers. Default: the first rank's
            torch.initial_seed().
        repeats (int): Measurements of each layer. Default: 3.
        budget (int): Schedules that the search evaluates. Default: 1000.
        trials (int): Rounds at most in which the schedule found and 1F1B run the
            example, in turns. The one found goes on if it is faster. They run before
            the layers are dealt, so the whole model has to be on the device, without
            `wrap`. 0 takes the one found. Default: 10.
        runtime (str): ``ashlar`` or ``pytorch``. Default: ``auto``, PyTorch's on GPUs
            and for sharded stages, which it alone can run, and else Ashlar's, which
            takes less time between passes.
        require_certificate (bool): Runs only programs that `ashlar_verify` accepts,
            which shares no code with this package. Default: ``False``.

    Raises:
        ValueError: if the model cannot run, with the layer and the reason; or if a
            certificate is required and the plan's program has none.
    """

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
        trials: int = 10,
        runtime: str = "auto",
        require_certificate: bool = False,
    ) -> None:
        must_be_runtime(runtime)
        check_model(model)
        guards.must_have_no_parameters(loss_fn, besides=model.parameters())
        must_decide_together(loss_fn, model)
        self.group, self.data_group = group, data_group
        count = dist.get_world_size(group)
        if devices is not None and devices != count:
            raise ValueError(f"devices is {devices}, and the group has {count} ranks")
        self.device = whole_name(
            torch.device(device)
            if device is not None
            else next(model.parameters()).device
        )
        self._count = micro_batches if micro_batches is not None else 2 * count
        self.micro_batches, self._by_count = self._count, {}
        self.memory, self._budget = parsed_bytes(memory), budget
        self._certified, self._runtime_kind = require_certificate, runtime
        self._loss_fn, self._autocast = loss_fn, self._autocast_now()
        args, kwargs = self._moved(inputs_of(example))
        target = self._moved(target)
        self._meeting = Meeting(group)
        self._meeting.must_agree({DIFFERENT_EXAMPLE: sum_of((args, kwargs, target))})
        self._example = Example((args, kwargs), "the batch")
        self._example_target = Example(target, "the target")
        for ranks in (group, data_group) if data_group is not None else (group,):
            make_equal(model, ranks, self.device)
        given = torch.initial_seed() if seed is None else seed
        agreed = self._meeting.gather([given % (1 << 62)])[0][0]
        self._streams = Streams(
            agreed, 0 if data_group is None else dist.get_rank(data_group), self.device
        )
        opened, found = find_layers(model, count, layers)
        trained = self._trained_unpiped(model, args, kwargs, target)
        with (
            all_visiting(model, opened, found, self.device),
            kept_generators(self.device),
        ):
            expected = self._example_losses(model, opened, found, args, kwargs, target)
            self.skeleton = Skeleton(model, opened, found, self.device)
            self._modes = Modes(self.skeleton)
            self._mode = self._modes.now(tree_leaves((args, kwargs)))
            before = self._state_of_layers()
            with self._context():
                tracer = Tracer(self.skeleton.layers, self._streams, measured(repeats))
                self.trace, _ = traced(self.skeleton, args, kwargs, tracer)
            before.restore()
        agree(self.trace)
        self._wrapped = {
            "data_ranks": data_ranks,
            "sharding": "none" if wrap is None else sharding,
        }
        self._unpiped = {}
        self._fuses = (wrap is not None and sharding in ("weights", "full")) or bool(
            self.trace.whole_layers()
        )
        how: dict[str, Any] = {
            "transfer": transfer_seconds(self.trace.widest(), group, self.device),
            "optimizer_copies": optimizer_copies,
            "fused": self._fuses,
        }
        if schedule is None:
            dealt = deal(self.trace, count, **how)
            if not dealt:
                raise ValueError(
                    f"the model has too few layers for {count} devices: name what to "
                    "cut in `layers`"
                )
            self._choose(dealt, (args, kwargs), target, trials)
        else:
            self.plans = [self._planned(schedule, count, how)]
            self.plan = self._runnable()
        if require_certificate:
            must_be_certified(self._lowered(self.plan))
        self._build(wrap, data_ranks, sharding)
        self._unpiped = {} if trained is None else self._gradients.of_one_stage(trained)
        self._mode = (*self._mode, self._count)
        self._by_mode = {self._mode: self._start(self.trace, self.plan)}
        self._run_as(self._by_mode[self._mode])
        self._must_be(expected, (args, kwargs), target)

    def _planned(
        self, schedule: str | Schedule, count: int, how: Mapping[str, Any]
    ) -> Plan:
        name = schedule if isinstance(schedule, str) else "given"
        made = (
            catalog.find(schedule)(count, self.micro_batches)
            if isinstance(schedule, str)
            else schedule
        )
        if made.micro_batches != self.micro_batches or made.devices != count:
            raise ValueError(
                f"the schedule has {made.micro_batches} micro-batches on "
                f"{made.devices} devices, "
                f"not {self.micro_batches} on {count}"
            )
        dealt = deal_on(self.trace, name, made.placement, **how)
        if dealt is None:
            raise ValueError(
                f"the model has too few layers for {made.placement.stage_count} stages"
            )
        if self._fuses and guards.splits_backwards(made):
            whose = (
                ", ".join(self.trace.whole_layers())
                or "stages that are gathered for each pass"
            )
            raise ValueError(
                f"the schedule splits backwards, but those of {whose} are one piece "
                "(compiled, or checkpoints with use_reentrant)"
            )
        plan = Plan(name, dealt, _core.retime(made, dealt.costs))
        if self._wrapped["sharding"] == "none":  # a wrapper may yet shard nothing
            self._must_run(plan)
        if self.memory is not None and max(plan.peak_memory()) > self.memory:
            raise ValueError(
                f"the schedule {name} takes {max(plan.peak_memory())} bytes, more than "
                f"memory={self.memory}"
            )
        return plan

    def _trained_unpiped(
        self, model: nn.Module, args: Any, kwargs: Any, target: Any
    ) -> set[str] | None:
        """Names of the parameters that train without a pipeline; None if not known."""
        on_meta = tree_map_only(torch.Tensor, meta_like, target)
        with self._context(), kept_generators(self.device):
            return trained_unpiped(
                model, lambda output: self._loss(output, on_meta), args, kwargs
            )

    def _example_losses(
        self,
        model: nn.Module,
        opened: set[str],
        found: dict[str, nn.Module],
        args: Any,
        kwargs: Any,
        target: Any,
    ) -> list[float]:
        """Losses of two runs of the whole model as it is set. Raises ValueError for an
        invalid loss, and if a forward writes to weights, or the model's own forward,
        which every stage runs, changes state.
        """
        modules = dict(model.named_modules(remove_duplicate=False))
        layers = State(found.items())
        losses = []
        for _ in range(2):
            own = State(((name, modules[name]) for name in opened), beyond=(nn.Module,))
            for name in opened:
                own.look_at_globals(modules[name])
            with torch.no_grad(), self._context(), self._streams.in_whole_model(found):
                given_args, given_kwargs = tree_map_only(
                    torch.Tensor, torch.clone, (args, kwargs)
                )
                loss = self._loss(model(*given_args, **given_kwargs), target)
            self._loss_type = loss.dtype
            losses.append(loss.item())
            if replaced := layers.replaced_modules():
                raise ValueError(
                    f"a forward of the model replaces the module {replaced[0]} by "
                    "another: call the model once on the example before "
                    "you make the pipeline, so that it has the modules that it will "
                    "train"
                )
            layers.restore()
        if written := layers.changed_weights():
            raise ValueError(
                f"a forward of the model writes to its weights ({written[0]}): a rank "
                "has only its own"
            )
        if changed := own.changed():
            kind = "the buffer " if changed[0] in dict(model.named_buffers()) else ""
            raise ValueError(
                f"the model's own forward changes {kind}'{changed[0]}', and every "
                "stage runs that forward: let a layer change it"
            )
        return losses

    def _build(
        self,
        wrap: Callable[[nn.Module], nn.Module] | None,
        data_ranks: int,
        sharding: str,
    ) -> None:
        """Keeps this rank's layers, frees the others, and makes the runtime."""
        cuts, rank = self.plan.dealt.cuts, dist.get_rank(self.group)
        replays = self._replays_of(self.trace, cuts)
        self._stages_of = {}
        for k, call in enumerate(self.trace.calls):
            if not call.is_free:
                self._stages_of.setdefault(id(call.layer), []).append(
                    self.plan.dealt.stage_of(k)
                )
        self._must_keep_order(self.trace, self.plan)
        called = {id(call.layer) for call in self.trace.calls}
        here = {id(layer) for replay in replays.values() for layer in replay.layers()}
        free = {id(call.layer) for call in self.trace.calls if call.is_free}
        uncalled = [layer for layer in self.skeleton.layers if id(layer) not in called]
        unused = {id(layer) for layer in uncalled if rank == 0}
        if rank == 0 and (
            names := [
                f"{layer.name}.{name}"
                for layer in uncalled
                for name, p in layer.module.named_parameters()
                if p.requires_grad
            ]
        ):
            warnings.warn(
                f"{some(names)} gets no gradient, nor without a pipeline: the example "
                "calls no layer that has it",
                stacklevel=2,
            )
        self._gradients = StepGradients(
            self.skeleton, self.plan.dealt, self.trace, self.group
        )
        for layer in self.skeleton.layers:
            if id(layer) in here | free | unused:
                layer.module.to(self.device)
            else:
                layer.forget()
        self.module = self.skeleton.part(
            layer for layer in self.skeleton.layers if id(layer) in here | free | unused
        )
        must_be_laid_out(
            parameters_of(self.module), self._gradients.layout(), self.group
        )
        self._inner = {
            s: self.skeleton.part(replay.layers()) for s, replay in replays.items()
        }
        parts = {
            s: part if wrap is None else wrap(part) for s, part in self._inner.items()
        }
        sharded = any(isinstance(one, FSDPModule) for one in parts.values())
        if wrap is not None:
            self._gradients.refuse_shared_in_wrapped(sharded)
        self._parts, self._wrapped = (
            parts,
            {"data_ranks": data_ranks, "sharding": sharding if sharded else "none"},
        )
        first = self._gradients.first_names()
        self._guard = StateGuard(
            {p: first.get(p, name) for name, p in self.named_parameters()}
        )
        weakref.finalize(self, self._guard.close)

    def step(
        self,
        *batch: Any,
        target: Any = None,
        micro_batches: int | None = None,
        **inputs: Any,
    ) -> torch.Tensor:
        """Trains on a batch, by adding gradients of its mean loss to `.grad`.

        An error leaves gradients and the state of layers as they were.

        Args:
            *batch: As the example's, `micro_batches` times as long, the same on every
                rank of the group.
            target (Any, optional): As the example's, `micro_batches` times as long.
            micro_batches (int, optional): Number in this batch. For each number that
                comes, a schedule is found once, on the same stages. Default: as made.
            **inputs: Inputs by keyword.

        Returns:
            Tensor: the mean loss, a number of type double, on all ranks.

        Raises:
            ValueError: on all ranks, for other shapes than the example's, and if ranks
                have other batches or set the model otherwise; or if there is no
                schedule for that number of micro-batches.
            LostRank: if another rank fails or is lost.
        """
        if not torch.is_grad_enabled():
            raise ValueError("step() trains, and gradients are off: call evaluate()")
        self._clock.clear()
        with self.waits.call("step()"), self._gradients.of_a_step(self.module):
            return self._run(batch, target, inputs, micro_batches, trains=True)

    def evaluate(
        self,
        *batch: Any,
        target: Any = None,
        micro_batches: int | None = None,
        **inputs: Any,
    ) -> torch.Tensor:
        """Runs a batch without gradients.

        Args:
            *batch: As in `step`.
            target (Any, optional): As in `step`.
            micro_batches (int, optional): As in `step`.
            **inputs: As in `step`.

        Returns:
            Tensor: the mean loss, a number of type double, on all ranks.

        Raises:
            ValueError: as `step` does.
            LostRank: if another rank fails or is lost.
        """
        with self.waits.call("evaluate()"), torch.no_grad():
            return self._run(batch, target, inputs, micro_batches, trains=False)

    def trace_again(self, *batch: Any, target: Any = None, **inputs: Any) -> None:
        """Traces the model as it is now with the first micro-batch of a batch.

        Every rank has to call this. Changes of train() and eval(), of a flag, or of an
        input that is no tensor are noticed without it.

        Args:
            *batch: As in `step`.
            target (Any, optional): As in `step`.
            **inputs: As in `step`.

        Raises:
            ValueError: if layers would be called in other stages than their own.
        """
        with self.waits.call("trace_again()"):
            given, aim = self._agreed(batch, target, inputs, None, trains=False)
            self._by_mode.clear()
            self._changed_mode(self._mode, given.pieces[0], aim.pieces[0])

    def parameters(self) -> Iterable[nn.Parameter]:
        """Returns this rank's parameters."""
        return self.module.parameters()

    def named_parameters(self) -> Iterable[tuple[str, nn.Parameter]]:
        """This rank's parameters, under the model's names."""
        return self.module.named_parameters()

    def zero_grad(self) -> None:
        """Sets the gradients of this rank's parameters to None."""
        self.module.zero_grad(set_to_none=True)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> torch.Tensor:
        """Clips gradients by their norm over all stages.

        It does what torch.nn.utils.clip_grad_norm_ does for a whole model. Every rank
        of the group has to call this. A parameter that several stages have counts once.

        Args:
            max_norm (float): The most that the norm may be.
            norm_type (float): Order of the norm, which may be infinite. Default: 2.

        Returns:
            Tensor: the norm before clipping, a number.
        """
        return self._gradients.clip(self.module, max_norm, norm_type, self.device)

    def train(self, mode: bool = True) -> Pipeline:
        """Sets the mode of the whole model, as nn.Module.train does.

        Args:
            mode (bool): Whether it trains. Default: ``True``.

        Returns:
            Pipeline: this one.
        """
        self.skeleton.model.train(mode)
        return self

    def eval(self) -> Pipeline:
        """Sets the mode of the whole model to evaluation.

        Returns:
            Pipeline: this one.
        """
        return self.train(False)

    def state_dict(self) -> dict[str, Any]:
        """Returns this rank's part of the model's state, under the model's names.

        Returns:
            dict[str, Any]: the parts of all ranks are the whole state.
        """
        return self.module.state_dict()

    @contextlib.contextmanager
    def same_numbers(
        self, model: nn.Module, micro_batch: int, step: int | None = None
    ) -> Iterator[None]:
        """Makes an unpiped model draw the numbers that a micro-batch drew in a step.

        Args:
            model (nn.Module): Made like this pipeline's. Inside, one forward of it
                draws them.
            micro_batch (int): Counts from 0.
            step (int, optional): Counts from 0. Default: the last one.
        """
        modules = dict(model.named_modules(remove_duplicate=False))
        at = self._streams.step, self._streams.micro_batch
        self._streams.step, self._streams.micro_batch = (
            (self._streams.trained - 1 if step is None else step),
            micro_batch,
        )
        try:
            with self._streams.in_whole_model(
                {name: modules[name] for name in self.skeleton.places}
            ):
                yield
        finally:
            self._streams.step, self._streams.micro_batch = at

    def whole_state_dict(self) -> dict[str, Any]:
        """Gathers the whole model's state. Every rank has to call this.

        Returns:
            dict[str, Any]: the state, in host memory, on the first rank; {} on others.
        """
        return gathered_state(self.module, self._meeting.group)

    def save_pretrained(self, folder: str, **options: Any) -> None:
        """Saves the whole model as `transformers` does.

        Every rank of the group has to call this; the first one writes.

        Args:
            folder (str): Where to.
            **options: Those of the model's own `save_pretrained`.
        """
        state = self.whole_state_dict()
        if dist.get_rank(self.group) == 0:
            model: Any = self.skeleton.model
            model.save_pretrained(folder, state_dict=state, **options)
        dist.barrier(group=self._meeting.group)

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> OptimizerState:
        """Makes a view of an optimizer's state for `torch.distributed.checkpoint`.

        It can be loaded where layers are dealt otherwise.

        Args:
            optimizer (torch.optim.Optimizer): The optimizer of this rank's parameters.

        Returns:
            OptimizerState: its state, under the names of the whole model.
        """
        return OptimizerState(self.module, optimizer, self._gradients.shared_names())

    def random_state(self) -> RandomState:
        """Makes a view of the seed and the number of steps, for
        `torch.distributed.checkpoint`.

        Steps after it is loaded draw the numbers that they would have drawn without a
        restart, also on another number of ranks.

        Returns:
            RandomState: the same on every rank.
        """
        return RandomState(self._streams)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Loads this rank's part from a state of the whole model.

        Args:
            state (mapping): By the model's names. A shared parameter needs only one of
                its names.
        """
        found = dict(state)
        for names in self._gradients.shared_names():
            known = next((found[name] for name in names if name in found), None)
            if known is not None:
                for name in names:
                    found.setdefault(name, known)
        self.module.load_state_dict(
            {name: found[name] for name in self.module.state_dict() if name in found}
        )

    def explain(self) -> str:
        """Describes the pipeline in words and a picture.

        Returns:
            str: stages and layers, values that cross cuts, the schedule, its bound,
            memory, alternatives, and what they took as run.
        """
        words = explained(
            self.plan, self.plans, self.trace, self.micro_batches, self.memory
        )
        return words if self.trial is None else f"{words}\n{self.trial}"

    def adapt(self) -> bool:
        """Searches again with the pass times of the last step.

        Layers, parameters and the optimizer stay where they are. Every rank of the
        default group has to call this.

        Returns:
            bool: whether it found a better schedule, which then runs.

        Raises:
            ValueError: before the first step.
        """
        dealt = dealt_as_taken(self.plan.dealt, self._clock, self._fuses)
        before = Plan(
            self.plan.name, dealt, _core.retime(self.plan.schedule, dealt.costs)
        )
        after = searched(
            dealt, self.micro_batches, self.memory, self._budget, self._fuses
        )
        better = (
            after.schedule.makespan < before.schedule.makespan
            and not self._obstacle(after)
        )
        before.bound = after.bound
        self.plan = after if better else before
        self.plans = [self.plan]
        self._by_count.clear()
        if better:
            self._must_keep_order(self.trace, self.plan)
            self._by_mode = {self._mode: self._start(self.trace, self.plan)}
        self._run_as(dataclasses.replace(self._by_mode[self._mode], plan=self.plan))
        return better
