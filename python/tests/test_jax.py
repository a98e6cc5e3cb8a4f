"""Schedules in JAX have the gradients of the whole model, in float64 on four CPU
devices.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import ashlar_pp
from ashlar_pp import Costs, catalog

# Most of the time goes into compilation.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
)
np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax")
jnp = jax.numpy

from ashlar_pp.jax import stages_by_device, value_and_grad  # noqa: E402
from ashlar_pp.jax.rounds import rounds_of  # noqa: E402

P, M, WIDTH, ROWS = 4, 8, 6, 3


@pytest.fixture(scope="module", autouse=True)
def four_devices():
    jax.config.update("jax_num_cpu_devices", P)
    jax.config.update("jax_enable_x64", True)


def mesh(devices=P):
    return jax.sharding.Mesh(jax.devices()[:devices], ("stage",))


def stage(parameters, x):
    hidden = jnp.tanh(x["h"] @ parameters["w"] + parameters["b"])
    return {"h": x["h"] + hidden * x["scale"], "scale": x["scale"] * parameters["s"]}


def loss(head, x, label):
    return jnp.mean((x["h"] @ head - label) ** 2 * x["scale"])


def made(stages, micro_batches):
    dice = np.random.default_rng(stages)
    parameters = {
        "w": dice.normal(size=(stages, WIDTH, WIDTH)) * 0.5,
        "b": dice.normal(size=(stages, WIDTH)),
        "s": dice.uniform(0.9, 1.1, stages),
    }
    inputs = {
        "h": dice.normal(size=(micro_batches, ROWS, WIDTH)),
        "scale": dice.uniform(0.5, 1, micro_batches),
    }
    return (
        parameters,
        dice.normal(size=(WIDTH, 2)),
        inputs,
        dice.normal(size=(micro_batches, ROWS, 2)),
    )


def whole(parameters, head, inputs, labels):
    def of_one(x, label):
        for i in range(len(parameters["s"])):
            x = stage(jax.tree.map(lambda p, i=i: p[i], parameters), x)
        return loss(head, x, label)

    return jnp.mean(jax.vmap(of_one)(inputs, labels))


def far_off(schedule, devices=P):
    """The largest difference to the whole model, relative to the largest gradient."""
    parameters, head, inputs, labels = made(schedule.stages, schedule.micro_batches)
    expected, wanted = jax.jit(jax.value_and_grad(whole, argnums=(0, 1, 2)))(
        parameters, head, inputs, labels
    )
    order = np.array(stages_by_device(schedule))
    step = value_and_grad(schedule, stage, loss, mesh=mesh(devices))
    value, found = step(
        jax.tree.map(lambda p: p[order], parameters), head, inputs, labels
    )
    by_stage = jax.tree.map(lambda g: g[np.argsort(order)], found[0])
    pairs = zip(jax.tree.leaves((by_stage, *found[1:])), jax.tree.leaves(wanted))
    return max(
        abs(float(value - expected) / float(expected)),
        *(float(abs(a - b).max() / abs(b).max()) for a, b in pairs),
    )


def runnable():
    """Published schedules that shard_map can run: all but those of several routes, with
    recomputes, sequence chunks or other devices for backwards.
    """
    found = {}
    for name in catalog.entries:
        try:
            schedule = catalog.find(name)(P, M)
            rounds_of(schedule)
        except ValueError:
            continue
        found[name] = schedule
    return found


@pytest.mark.parametrize("name", sorted(catalog.entries))
def test_published_schedules_have_the_gradients_of_the_whole(name):
    try:
        schedule = catalog.find(name)(P, M)
        rounds_of(schedule)
    except ValueError as error:
        pytest.skip(str(error))
    assert far_off(schedule, schedule.devices) < 1e-12


def test_most_published_schedules_run():
    names = set(runnable())
    assert len(names) >= 15, names
    assert {"1f1b", "zb-h1", "v-half", "v-min", "v-zb", "dualpipev", "stp"} <= names


@pytest.mark.parametrize("seed", range(4))
def test_found_and_odd_schedules_have_them_too(seed):
    """Tries searches and placements that move several devices on."""
    devices = 2 + seed % 3
    placement = [
        ashlar_pp.looped(devices, 2),
        ashlar_pp.Placement([[(3 * i) % devices for i in range(devices)] * 2]),
    ][seed % 2 if devices != 3 else 0]
    costs = Costs(10 + seed, 12, 9)
    schedule = ashlar_pp.search(placement, 5, costs, budget=200).schedule
    assert far_off(schedule, devices) < 1e-12


def test_a_device_keeps_no_more_inputs_than_the_schedule_says():
    for name, schedule in runnable().items():
        rounds = rounds_of(schedule)
        # An input arrives as soon as it is made, and so before its forward.
        waiting = max(map(max, arrived_before(schedule, rounds)))
        most = max(schedule.peak_activations) + waiting
        assert rounds.input_slots <= most, (name, rounds.input_slots, most)


def arrived_before(schedule, rounds):
    """How many inputs wait for their forward, after each round on each device."""
    waiting = np.zeros(schedule.devices, int)
    forward = np.isin(rounds.branch, (1, 5)) & (rounds.input >= 0)
    for i in range(len(rounds.branch)):
        waiting = waiting - forward[i]
        waiting = waiting + sum((table[i] >= 0) for table in rounds.input_from)
        yield waiting.tolist()
    assert not waiting.any()


def test_weight_gradients_are_summed_as_they_come():
    """Temporary memory does not grow with the number of micro-batches."""

    def bytes_of(micro_batches):
        schedule = catalog.zb_h1(P, micro_batches)
        args = made(P, micro_batches)
        step = value_and_grad(schedule, stage, loss, mesh=mesh())
        return step.lower(*args).compile().memory_analysis().temp_size_in_bytes

    inputs = ROWS * WIDTH * 8
    assert bytes_of(64) - bytes_of(8) < 56 * 4 * inputs


def test_what_cannot_run_is_refused():
    with pytest.raises(ValueError, match="copies of stages on several devices"):
        value_and_grad(catalog.chimera(P, M), stage, loss, mesh=mesh())
    with pytest.raises(ValueError, match="is for 2 devices, and axis 'stage' of the"):
        value_and_grad(catalog.zb_h1(2, M), stage, loss, mesh=mesh())
    with pytest.raises(ValueError, match="different numbers of stages"):
        stages_by_device(
            ashlar_pp.search(
                ashlar_pp.Placement([[0, 1, 1]]), 2, Costs(1, 1, 1), budget=10
            ).schedule
        )
    parameters, head, inputs, labels = made(P, M)
    step = value_and_grad(catalog.zb_h1(P, M), stage, loss, mesh=mesh())
    with pytest.raises(ValueError, match="inputs of a device have the first axis 8"):
        step(parameters, head, jax.tree.map(lambda x: x[:4], inputs), labels)

    def widens(p, x):
        return {"h": jnp.concatenate([x["h"]] * 2, -1), "scale": x["scale"]}

    step = value_and_grad(catalog.zb_h1(P, M), widens, loss, mesh=mesh())
    with pytest.raises(ValueError, match="the next one takes the same"):
        step(parameters, head, inputs, labels)


def test_the_script_of_the_page_trains(tmp_path):
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "jax.md"
    script = tmp_path / "train.py"
    script.write_text(re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[1])
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines()]
    assert len(losses) == 5 and losses == sorted(losses, reverse=True)
