"""Files: a device's data sheet, the description of this one, and constants."""

import json
import pathlib
from collections.abc import Sequence

import torch

from .constants import Measured
from .samples import Sample
from .team import Team

# Keys of a data sheet's peaks, by bits; the first that it has counts.
PEAKS = {32: ("tf32", "fp32"), 16: ("bf16", "fp16"), 8: ("fp8",)}
FIGURES = ("memory_bandwidth", "link_inside", "link_outside", "exponentials")


def value_of(entry: object) -> float:
    found = entry["value"] if isinstance(entry, dict) else entry
    if not isinstance(found, int | float):
        raise ValueError("a figure must be a number")
    return float(found)


def figures_of(path: pathlib.Path) -> dict[str, float]:
    """Of a data sheet as `--cluster` takes it. Raises ValueError."""
    sheet = json.loads(path.read_text())
    try:
        made = {name: value_of(sheet[name]) for name in FIGURES}
        peaks = sheet["peak_flops"]
        for bits, names in PEAKS.items():
            for name in names:
                if name in peaks:
                    made.setdefault(f"peak.{bits}", value_of(peaks[name]))
    except (KeyError, TypeError) as e:
        raise ValueError(f"'{path}' is no data sheet: it lacks {e}") from e
    return made


def description(m: Measured, team: Team) -> dict[str, object]:
    """This machine, as `--cluster` takes it: figures are the highest measured ones."""
    figures = m.figures
    inside = figures.get("link_inside", figures["memory_bandwidth"])
    return {
        "name": m.device.name,
        "nodes": team.domains,
        "devices_per_node": team.domain,
        "domain": team.domain,
        "generation": m.device.generation,
        "peak_flops": {
            "fp32": figures["peak.32"],
            "bf16": figures["peak.16"],
            **({"fp8": figures["peak.8"]} if "peak.8" in figures else {}),
        },
        "memory_bytes": m.device.memory_bytes,
        "memory_bandwidth": figures["memory_bandwidth"],
        "link_inside": inside,
        "link_outside": figures.get("link_outside", inside),
        "units": m.device.units,
        "exponentials": figures["exponentials"],
        # The family's full power: a limit is in the measured peaks.
        "power_watts": 1400,
    }


def constants_file(m: Measured, team: Team) -> dict[str, object]:
    return {
        "measured_on": {
            "device": m.device.name,
            "processes": team.size,
            "in_a_domain": team.domain,
            "torch": torch.__version__,
            "rounds": min(len(each.seconds) for each in m.samples),
        },
        "constants": {name: each.lines() for name, each in m.constants.items()},
        "assumed": m.assumed,
        "checked": {name: float(f"{x:.3g}") for name, x in m.checked.items()},
    }


def samples_file(samples: Sequence[Sample]) -> list[dict[str, object]]:
    return [
        {
            "kind": each.kind,
            "name": each.name,
            "terms": each.terms,
            "seconds": [float(f"{s:.6g}") for s in each.seconds],
        }
        for each in samples
    ]


def write(folder: pathlib.Path, name: str, value: object) -> None:
    (folder / name).write_text(json.dumps(value, indent=1) + "\n")
