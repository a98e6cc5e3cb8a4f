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
    for name in everyone[0]:
        cases = [found[name] for found in everyone]
        if name == "reentrant":
            for said in cases:
                assert "rest.inner.weight of stage 1 on rank 1" in said
                assert "the model without a pipeline gives it none" in said
                assert "use_reentrant=False" in said
            continue
        for case in cases:
            assert case["off"] <= 1e-14 and case["other"] == [], name
        told = [one for case in cases for one in case["told"]]
        assert sum("never.weight, never.bias gets no gradient" in o for o in told) == 1
        rest = [one for one in told if "never" not in one]
        assert any("unused of stage" in one for one in rest)
        for one in rest:
            assert one.endswith("nothing depends on it, nor without a pipeline"), name


def test_numbers_of_micro_batches_may_change_from_step_to_step():
    for found in from_trained("counts"):
        assert "has 4 micro-batches, not 6" in found.pop("given")
        for name, case in found.items():
            assert case["off"] <= 1e-14, name
            assert case["plans"] == [1, 3, 4, 6], name
            assert "a batch of 4 has 12" in case["none"]


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
