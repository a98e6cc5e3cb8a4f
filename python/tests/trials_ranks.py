"""Functions that the processes of test_trials.py run: one each, with a rank in a
group.
"""

import sys

import front_ranks
import ranks
import torch
from torch import nn

import ashlar_pp.torch
from ashlar_pp.torch.trials import Trials

WIDTH, MICRO_BATCHES = 8, 4


class Counts(nn.Module):
    """Draws random numbers, and counts its calls in buffers."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.Dropout(0.2)
        )

    def forward(self, x):
        return x + self.inner(x)


def made():
    torch.manual_seed(1)
    return nn.Sequential(*(Counts() for _ in range(4))).double()


def batch(micro_batches, seed):
    torch.manual_seed(seed)
    return torch.randn(2, 6 * micro_batches, WIDTH, dtype=torch.double).unbind()


def pipeline_of(model, **options):
    x, y = batch(1, 0)
    before = torch.get_rng_state()
    pipe = ashlar_pp.torch.Pipeline(
        model,
        x,
        target=y,
        loss_fn=nn.functional.mse_loss,
        micro_batches=MICRO_BATCHES,
        repeats=1,
        budget=50,
        seed=5,
        **options,
    )
    assert torch.equal(torch.get_rng_state(), before)
    return pipe


def trained(pipe):
    """Losses of three steps, and this rank's state after them."""
    optimizer = torch.optim.SGD(pipe.parameters(), lr=0.1)
    losses = []
    for k in range(3):
        x, y = batch(MICRO_BATCHES, 10 + k)
        optimizer.zero_grad()
        losses.append(pipe.step(x, target=y).item())
        optimizer.step()
    return losses, pipe.state_dict()


def as_run(_):
    """Steps of both plans, where their times are given."""
    run, found, told = Trials._seconds, {}, []
    expected, state = trained(pipeline_of(made(), schedule="1f1b"))
    for faster in ("searched", "1f1b"):

        def seconds(self, ready, given, target, faster=faster):
            taken = run(self, ready, given, target)
            assert taken > 0
            return 1.0 if self.plan.name.startswith(faster) else 2.0

        Trials._seconds = seconds
        model = made()
        for p in model.parameters():
            p.grad = torch.full_like(p, 3.0)
            p.register_post_accumulate_grad_hook(told.append)
        pipe = pipeline_of(model)
        found[faster] = {
            "plan": pipe.plan.name,
            "rounds": len(pipe.trial.seconds),
            "explained": pipe.explain().splitlines()[-1],
            "gradients": all(bool((p.grad == 3).all()) for p in pipe.parameters()),
            "hooks": len(told),
        }
        losses, mine = trained(pipe)
        told.clear()  # of real steps
        found[faster]["losses"] = front_ranks.ranks.different(
            [torch.tensor(losses)], [torch.tensor(expected)]
        )
        found[faster]["off"] = max(
            (float((mine[n] - p).abs().max()) for n, p in state.items() if n in mine),
            default=0.0,
        )
    Trials._seconds = run
    return found


if __name__ == "__main__":
    ranks.main(globals(), *sys.argv[1:])
