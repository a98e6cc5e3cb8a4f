"""The plan that takes less time goes on, and trials leave no trace."""

import itertools

import pytest
from launching import on_ranks

pytest.importorskip("torch")
from ashlar_pp.torch.trials import is_less  # noqa: E402


def test_a_plan_is_faster_only_if_chance_does_not_explain_it():
    def decided(signs):
        return is_less([(1.0, 0.9 if sign else 1.1) for sign in signs])

    assert decided([]) is None
    assert decided([True] * 4) is None and decided([True] * 5) is True
    assert decided([False] * 5) is False
    assert is_less([(1.0, 1.0)] * 10) is False  # equal is not less
    for n in range(1, 11):
        wrong = sum(
            decided(signs) is True for signs in itertools.product((0, 1), repeat=n)
        )
        assert wrong / 2**n < 0.05


def test_the_faster_plan_goes_on_and_trains_as_if_nothing_had_run():
    for rank in on_ranks("as_run", 2, script="trials_ranks.py"):
        assert rank["searched"]["plan"].startswith("searched")
        assert rank["1f1b"]["plan"] == "1f1b"
        for name, found in rank.items():
            assert found["rounds"] == 5
            assert found["gradients"] and found["hooks"] == 0
            assert found["losses"] <= 1e-14 and found["off"] <= 1e-14, name
            assert "as run in turns, 5 rounds: 1f1b " in found["explained"]
            assert found["explained"].endswith(f"{found['plan']} goes on")
