"""Every trainable parameter gets the gradient that it has without a pipeline, or is
named.
"""

import importlib.util

import pytest
from launching import on_ranks

needs_peft = pytest.mark.skipif(
    importlib.util.find_spec("peft") is None, reason="this Python has no peft"
)


def from_trained(function):
    return on_ranks(function, 2, script="trained_ranks.py")


def test_parameters_without_a_gradient_are_those_of_the_unpiped_model():
    everyone = from_trained("gradients")
    for rank, found in enumerate(everyone):
        reentrant = found.pop("reentrant")
        for name, case in found.items():
            assert case["off"] <= 1e-14 and case["other"] == [], name
            told = " ".join(case["told"])
            assert "unused of stage" in told, name
            assert "nothing depends on it, nor without a pipeline" in told
            assert ("never.weight, never.bias gets no gradient" in told) is (rank == 0)
        assert "inner.weight of stage 1 on rank 1" in reentrant
        assert "the model without a pipeline gives it none" in reentrant
        assert "use_reentrant=False" in reentrant


@needs_peft
def test_adapters_train_as_without_a_pipeline_and_frozen_parts_have_no_weight_pass():
    for found in from_trained("adapters"):
        for name, case in found.items():
            assert case["off"] <= 1e-14 and case["other"] == [], name
            assert case["told"] == [], name
        _, backward, weights = found["the last, 1f1b"]["costs"][0]
        assert backward == weights == 0  # nothing is trained there
        _, backward, weights = found["all, 1f1b"]["costs"][1]
        assert 0 < weights < backward
