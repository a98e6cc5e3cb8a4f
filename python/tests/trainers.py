"""Models in stages, and the results of the whole model without a pipeline."""

import torch
from torch import nn

from ashlar_pp.torch.passes import MicroBatch, StagePasses

WIDTH = 6
ROWS = 2  # in a micro-batch
TIME = 4  # steps in a sequence


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (
            nn.Linear(WIDTH, 2 * WIDTH),
            nn.Linear(2 * WIDTH, WIDTH),
        )

    def forward(self, x):
        return torch.tanh(self.second(torch.tanh(self.first(x))))


class Recurrent(nn.Module):
    """Steps through the sequence; the state is the last hidden value."""

    def __init__(self):
        super().__init__()
        self.of_input, self.of_state = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, state):
        outputs = []
        for t in range(x.shape[1]):
            state = torch.tanh(
                self.of_input(x[:, t]) + (0 if state is None else self.of_state(state))
            )
            outputs.append(state)
        return torch.stack(outputs, dim=1), state


def stage(number, sequences):
    torch.manual_seed(100 + number)
    return (Recurrent() if sequences else Plain()).double()


def batch(micro_batches, sequences, seed=2):
    torch.manual_seed(seed)
    shape = (
        (ROWS * micro_batches, TIME, WIDTH)
        if sequences
        else (ROWS * micro_batches, WIDTH)
    )
    return torch.randn(shape, dtype=torch.double), torch.randn(
        shape, dtype=torch.double
    )


def loss_of(output, target):
    return ((output - target) ** 2).sum()


def sequential(stage_count, micro_batches, sequences, trains=True, seed=2):
    """Losses of the micro-batches, gradients by stage, and outputs, without a
    pipeline.
    """
    stages = [stage(s, sequences) for s in range(stage_count)]
    inputs, targets = batch(micro_batches, sequences, seed)
    losses, outputs = [], []
    for x, y in zip(inputs.chunk(micro_batches), targets.chunk(micro_batches)):
        for one in stages:
            x = one(x, None)[0] if sequences else one(x)
        loss = loss_of(x, y)
        if trains:
            loss.backward()
        losses.append(loss.item())
        outputs.append(x.detach())
    return losses, [[p.grad for p in one.parameters()] for one in stages], outputs


class SavedBytes:
    """Counts bytes that autograd keeps, now and at most: each tensor as often as it is
    saved, parameters not.
    """

    def __init__(self, parameters):
        self._known = {p.data_ptr() for p in parameters}
        self.now = self.most = 0

    def __enter__(self):
        self._hooks = torch.autograd.graph.saved_tensors_hooks(
            self._pack, lambda kept: kept.tensor
        )
        self._hooks.__enter__()
        return self

    def __exit__(self, *error):
        self._hooks.__exit__(*error)

    def _pack(self, tensor):
        size = 0 if tensor.data_ptr() in self._known else tensor.nbytes
        self.now += size
        self.most = max(self.most, self.now)
        # detached: its graph would keep itself alive
        return _Kept(self, tensor.detach(), size)


class _Kept:
    def __init__(self, counter, tensor, size):
        self._counter, self.tensor, self._size = counter, tensor, size

    def __del__(self):
        self._counter.now -= self._size


def kept_bytes(stage_count, number):
    """Bytes that a forward of the stage keeps for its backward, and those that stay
    until the weight pass.
    """
    one = stage(number, sequences=False)
    is_first, is_last = number == 0, number + 1 == stage_count
    passes = StagePasses(
        one, number, is_first, loss_of if is_last else None, sequence_chunks=1
    )
    x, y = batch(1, sequences=False)
    with SavedBytes(one.parameters()) as counter:
        passes.forward(0, (x,), MicroBatch(target=y if is_last else None), trains=True)
        stash = counter.now
        passes.backward_input(0, None if is_last else [y])
        return stash, counter.now
