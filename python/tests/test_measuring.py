"""python -m ashlar_pp.measure: constants of `ashlar predict`, measured here."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest
import torch

from ashlar_pp.measure import constants, files, products, taking
from ashlar_pp.measure.devices import Device
from ashlar_pp.measure.samples import Sample
from ashlar_pp.measure.solving import misfit, solve
from ashlar_pp.measure.team import alone


def test_unknowns_are_found_again_and_none_is_below_zero():
    rows = [[1, 2, 0], [3, 1, 5], [0, 4, 1], [2, 2, 2], [7, 0, 1]]
    true = [0.5, 1e-6, 3.0]
    seconds = [sum(a * b for a, b in zip(row, true)) for row in rows]
    found = solve(rows, seconds)
    assert found == pytest.approx(true, rel=1e-6, abs=1e-9)
    assert misfit(rows, seconds, found) < 1e-6
    # The best without bounds is y = 3 - x: the second unknown would be -1.
    assert solve([[1, 0], [2, 1]], [1, 1])[1] == 0


def sample(kind, name, seconds, **terms):
    rounds = [0.98 * seconds, seconds, 1.02 * seconds]
    return Sample(kind, name, terms, lambda: None, seconds=rounds)


RATE = {32: 8e13, 16: 7e14, 8: 1.2e15}
MEMORY, WAVE, TRAFFIC = 1.5e12, 0.4, 0.3
LATENCY, LINK, PORT = 3e-5, 3e11, 4e10
UNITS = 132


def samples_by_the_formulas():
    """All times as the cost model's formulas have them, with the figures above."""
    made = [
        sample("memory", "norm", 1e9 / MEMORY, bytes=1e9),
        sample("memory", "AdamW", 3e9 / MEMORY, bytes=3e9),
        sample("copies", "copy", 1e9 / 2.5e12, bytes=1e9),
        sample("loss", "logits", 1e8 * 36 / MEMORY, logits=1e8),
    ]
    for bits, rate in RATE.items():
        for m, n, k in ((8192, 4096, 4096), (512, 4096, 1024), (4096, 128, 16384)):
            for count in (1, 4):
                t = products.product_terms(m, n, k, count, UNITS)
                seconds = (t["operations"] + WAVE * t["wave"]) / rate
                seconds += TRAFFIC * t["traffic"] / MEMORY
                made.append(sample(f"products.{bits}", "product", seconds, **t))
    for head in (64, 128):
        for times in (4, 10):
            scores = 1e10
            seconds = scores * times * head / 4e14 + scores / 4e12
            made.append(
                sample(
                    "attention.hopper",
                    "causal",
                    seconds,
                    operations=scores * times * head,
                    exponentials=scores,
                )
            )
    for place, rate in (("inside", LINK), ("outside", PORT)):
        for size in (1e3, 1e6, 1e9):
            made.append(
                sample(
                    "exchanges",
                    f"all-gather {place}",
                    size / rate + 4 * LATENCY,
                    **{place: size, "latency": 4.0},
                )
            )
    for name, seconds in (
        ("products", 0.1),
        ("sum", 0.05),
        ("in the way", 0.24),
        ("beside products", 0.23),
    ):
        made.append(sample("overlap", name, seconds))
    for name, terms in (
        ("layers", {"host": 16.0}),
        ("2 experts", {"host": 2.0, "host_expert": 2.0, "host_each_expert": 4.0}),
        ("8 experts", {"host": 2.0, "host_expert": 2.0, "host_each_expert": 16.0}),
    ):
        known = {"host": 6e-4, "host_expert": 2e-3, "host_each_expert": 1e-4}
        seconds = sum(times * known[each] for each, times in terms.items())
        made.append(sample("host", name, seconds, **terms))
    made.append(sample("host_update", "AdamW", 4 * 4e-3, host_update=4.0))
    made.append(sample("host_tensor", "exchanges", 5e-4, host_tensor=1.0))
    made.append(sample("host_graphs", "graphs", 16 * 1.5e-4, host_graphs=16.0))
    return made


def test_formulas_are_solved_for_the_constants_that_times_were_made_with():
    device = Device("H100", "hopper", 80e9, UNITS)
    figures = {
        "memory_bandwidth": 3e12,
        "link_inside": 4.5e11,
        "link_outside": 5e10,
        "exponentials": 4e12,
        "peak.32": 4e14,
        "peak.16": 1e15,
        "peak.8": 2e15,
    }
    m = constants.Measured(samples_by_the_formulas(), device, 16, figures)
    taking.take_all(m)
    expected = {
        "memory": MEMORY / 3e12,
        "loss_bytes": 36,
        "products.hopper.32": 0.2,
        "products.hopper.16": 0.7,
        "products.hopper.8": 0.6,
        "wave": WAVE,
        "traffic": TRAFFIC,
        "attention.hopper": 0.4,
        "link_inside": LINK / 4.5e11,
        "link_outside": PORT / 5e10,
        "latency": LATENCY,
        "contention": 0.6,
        "data_exposed": 0.6,
        "tensor_exposed": 0.8,
        "host": 6e-4,
        "host_expert": 2e-3,
        "host_each_expert": 1e-4,
        "host_update": 4e-3,
        "host_tensor": 5e-4,
        "host_graphs": 0.25,
    }
    for name, value in expected.items():
        found = m.constants[name]
        assert found.value == pytest.approx(value, rel=1e-3), name
        assert found.low <= found.value <= found.high
    assert set(m.constants) == set(expected) | {"power"}
    # Each constant of the model is measured, or says why it is not.
    assert not set(m.constants) & set(m.assumed)
    assert "straggler" in m.assumed
    # Rounds were 2 % apart.
    assert 0.01 < m.constants["memory"].spread < 0.03


def test_without_a_sheet_shares_are_of_the_highest_measured_figures():
    device = Device("new", "blackwell", 80e9, UNITS)
    m = constants.Measured(samples_by_the_formulas(), device, 16)
    taking.take_all(m)
    made = files.description(m, alone(torch.device("cpu")))
    assert made["memory_bandwidth"] == pytest.approx(2.5e12)
    assert made["peak_flops"]["bf16"] == pytest.approx(RATE[16], rel=1e-3)
    assert m.constants["products.blackwell.16"].value == pytest.approx(1)
    assert made["exponentials"] == pytest.approx(4e12, rel=1e-3)


def measured(folder, *more, processes=1):
    line = [sys.executable, "-m"]
    if processes > 1:
        line += ["torch.distributed.run", "--standalone"]
        line += ["--nproc-per-node", str(processes), "-m"]
    line += ["ashlar_pp.measure", str(folder), "--device", "cpu", *more]
    return subprocess.run(
        line,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def read(folder, name):
    return json.loads((pathlib.Path(folder) / name).read_text())


def all_are_sound(folder):
    made = read(folder, "constants.json")["constants"]
    for name, each in made.items():
        assert math.isfinite(each["value"]) and each["value"] > 0, name
        assert each["low"] <= each["value"] <= each["high"], name
        assert each["source"] == "measured" and each["how"], name
        assert 0 <= each["spread"] <= 3, name
    machine = read(folder, "machine.json")
    for name in ("memory_bandwidth", "link_inside", "link_outside", "exponentials"):
        assert machine[name] > 0, name
    return made


def test_one_processor_is_measured(tmp_path):
    ran = measured(tmp_path, "--size", "0.125", "--rounds", "2", "--minutes", "5")
    assert ran.returncode == 0, ran.stderr
    made = all_are_sound(tmp_path)
    for name in ("memory", "products.hopper.32", "attention.ampere", "host"):
        assert name in made
    assumed = read(tmp_path, "constants.json")["assumed"]
    assert "torchrun" in assumed["link_inside"]
    # Progress: a line a sample and a line a round.
    assert "round 2:" in ran.stderr and "sum and norm, forward" in ran.stderr
    each = read(tmp_path, "samples.json")
    assert all(len(one["seconds"]) == 2 for one in each)


@pytest.mark.parametrize("domain", [1, 2])
def test_two_processes_exchange_in_a_domain_or_between_two(tmp_path, domain):
    ran = measured(
        tmp_path,
        *("--size", "0.125", "--rounds", "2", "--minutes", "8"),
        *("--domain", str(domain)),
        processes=2,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    made = all_are_sound(tmp_path)
    assert "latency" in made and "host_tensor" in made and "contention" in made
    assert ("link_inside" in made) == (domain == 2)
    assert ("link_outside" in made) == (domain == 1)
    machine = read(tmp_path, "machine.json")
    assert (machine["nodes"], machine["devices_per_node"]) == (2 // domain, domain)


def test_a_budget_that_no_round_fits_is_told(tmp_path):
    ran = measured(tmp_path, "--minutes", "0.0001")
    assert ran.returncode == 2
    assert "one round takes longer than --minutes" in ran.stderr
    assert not (tmp_path / "constants.json").exists()


def test_wrong_options_are_refused(tmp_path):
    for words, expected in (
        (["--minutes", "0"], "--minutes must be above 0"),
        (["--size", "2"], "--size must be at most 1"),
        (["--machine", str(tmp_path / "no.json")], "no.json"),
    ):
        ran = measured(tmp_path, *words)
        assert ran.returncode == 2
        assert expected in ran.stderr
    sheet = tmp_path / "sheet.json"
    sheet.write_text('{"memory_bandwidth": 1e12}')
    ran = measured(tmp_path, "--machine", str(sheet))
    assert ran.returncode == 2 and "is no data sheet" in ran.stderr
