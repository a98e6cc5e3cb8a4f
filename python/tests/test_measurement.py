"""What layers take is measured pass by pass."""

import types

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from ashlar_pp.torch.measurement import measure  # noqa: E402


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
