"""What layers take is measured pass by pass."""

import types

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from ashlar_pp.torch.agreement import make_alike  # noqa: E402
from ashlar_pp.torch.measurement import Measured, measure  # noqa: E402


@pytest.mark.parametrize("is_trained", [True, False])
def test_only_layers_with_trained_weights_have_weight_passes(is_trained):
    module = nn.Linear(32, 32).requires_grad_(is_trained)
    layer = types.SimpleNamespace(
        name="layer", module=module, compute=lambda args, kwargs: module(*args)
    )
    found = measure(layer, (torch.randn(4, 32),), {}, repeats=2)
    assert found.forward > 0 and found.backward_input > 0
    assert (found.backward_weight > 0) is is_trained
    assert module.weight.grad is None


def test_layers_made_alike_take_the_same_unless_noise_does_not_explain_it():
    def total_of(*seconds_and_spreads):
        of = [Measured(forward=t, spread=s) for t, s in seconds_and_spreads]
        make_alike(of)
        return [one.total() for one in of]

    assert total_of((1.0, 0.3), (1.2, 0.2), (0.9, 0.1)) == [1.0] * 3
    assert total_of((1.0, 0.1), (1.1, 0.2), (3.0, 0.5), (0.9, 0.4)) == [
        *([1.0] * 2),
        3.0,
        1.0,
    ]
    assert total_of((1.0, 0.0), (2.0, 0.0), (4.0, 0.0)) == [1.0, 2.0, 4.0]
