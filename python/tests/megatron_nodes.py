"""Megatron-Core's nodes of layers on CPUs: streams and events with clocks instead of
CUDA's, a record of which node ran on which stream, and layers that delay the gradients
of their weights, as Transformer Engine's do.
"""

import collections
import contextlib
import functools

import torch
from megatron.core.models.common import model_chunk_schedule_plan as plans
from megatron.core.models.gpt.fine_grained_callables import TransformerLayerNode
from megatron.core.pipeline_parallel import utils
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from megatron.core.transformer.moe import token_dispatcher

# Megatron's own leaves tensors that are on the CPU as they are.
token_dispatcher.maybe_move_tensor_to_cpu = lambda tensor, as_numpy=False, **_: (
    tensor.numpy() if as_numpy and torch.is_tensor(tensor) else tensor
)


class Stream:
    """Counts its operations, and knows which of other streams come before them."""

    made = 0

    def __init__(self, *_, **__):
        self.name, self.clock = Stream.made, collections.Counter()
        Stream.made += 1

    def tick(self):
        self.clock[self.name] += 1
        return self.name, self.clock[self.name]

    def wait_stream(self, other):
        self.clock |= other.clock

    def wait_event(self, event):
        event.wait(self)

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self):
        pass


class Event:
    def __init__(self, *_, **__):
        self.clock = collections.Counter()

    def record(self, stream=None):
        self.clock = collections.Counter((stream or current[-1]).clock)

    def wait(self, stream=None):
        (stream or current[-1]).clock |= self.clock

    def synchronize(self):
        pass


current = [Stream()]


@contextlib.contextmanager
def on_stream(stream):
    current.append(stream)
    yield
    current.pop()


class Nodes:
    """Records (stream, node). `lasts`: of each plan, its last operation."""

    def __init__(self):
        self.ran, self.lasts = [], {}

    def note(self, node, what):
        state = getattr(node, "chunk_state", None)
        if state is None:
            return  # the loss
        stream = current[-1]
        clock = stream.clock
        name, count = self.lasts.get(state.number, (0, 0))
        assert clock[name] >= count, (node.name, what, "races", name, count, clock)
        happened = stream.tick()
        if what == "weights":
            at, since = node.done
            assert clock[at] >= since, (node.name, "has no gradient yet")
        else:
            node.done = self.lasts[state.number] = happened
        layer = getattr(node, "number", "")
        self.ran.append(
            (
                stream.name,
                f"{state.stage} {state.micro_batch} {node.name}{layer} {what}",
            )
        )


nodes = Nodes()


def record():
    """Replaces CUDA's streams, and makes Megatron's nodes note when they run."""
    torch.cuda.Stream, torch.cuda.Event = Stream, Event
    torch.cuda.stream = on_stream
    torch.cuda.current_stream = lambda *_: current[-1]
    torch.cuda.nvtx.range = lambda *_: contextlib.nullcontext()
    torch.Tensor.record_stream = lambda *_: None

    def watched(own, function, what):
        @functools.wraps(own)
        def run(node, *args):
            inner = getattr(node, function)

            def noted(*given):
                nodes.note(node, what)
                return inner(*given)

            setattr(node, function, noted)
            return own(node, *args)

        return run

    node = utils.ScheduleNode
    node._forward = watched(node._forward, "forward_func", "forward")
    node._backward = watched(node._backward, "backward_func", "backward")
    of_weights = TransformerLayerNode.backward_dw

    def backward_dw(node):
        if node.delay_wgrad_compute:
            nodes.note(node, "weights")
        of_weights(node)

    TransformerLayerNode.backward_dw = backward_dw
    chunk, layer = (
        plans.TransformerModelChunkSchedulePlan,
        plans.TransformerLayerSchedulePlan,
    )
    made_chunk, made_layer = chunk.__init__, layer.__init__

    def of_chunk(plan, model, *args, **more):
        made_chunk(plan, model, *args, **more)
        plan.state.number = record.plans = record.plans + 1
        plan.state.stage = model.vp_stage
        layers = model.decoder.layers
        plan.state.micro_batch = layers[0].current_microbatch if layers else None

    def of_layer(plan, own, *args, **more):
        made_layer(plan, own, *args, **more)
        for name in ("attn", "moe_dispatch", "mlp", "moe_combine", "mtp_post_process"):
            getattr(plan, name).number = own.layer_number

    chunk.__init__, layer.__init__ = of_chunk, of_layer


record.plans = 0


class Delayed(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight, bias, kept):
        context.save_for_backward(x, weight)
        context.kept, context.has_bias = kept, bias is not None
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(context, gradient):
        x, weight = context.saved_tensors
        context.kept.append((x, gradient))
        bias = gradient.flatten(0, -2).sum(0) if context.has_bias else None
        return gradient @ weight, None, bias, None


def delay(model):
    """Makes the linear layers of a model's transformer layers compute gradients of
    weights in backward_dw(), in the order of their backwards.
    """
    blocks = [model.decoder, *([model.mtp] if hasattr(model, "mtp") else [])]
    for block in blocks:
        for layer in block.layers:
            for module in layer.modules():
                if isinstance(module, (ColumnParallelLinear, RowParallelLinear)):
                    _delay_one(module)


def _delay_one(module):
    kept, hooks = collections.deque(), []
    module.weight.skip_backward_post_hook = True
    module._forward_impl = lambda input, weight, bias=None, **_: Delayed.apply(
        input, weight, bias, kept
    )

    def backward_dw():
        x, gradient = kept.popleft()
        own = gradient.flatten(0, -2).T @ x.flatten(0, -2)
        weight = module.weight
        weight.grad = own if weight.grad is None else weight.grad + own
        for hook in hooks:
            hook()

    module.backward_dw = backward_dw
    module.register_wgrad_accumulation_and_reduce_hooks = hooks.append
