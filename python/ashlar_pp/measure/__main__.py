"""python -m ashlar_pp.measure FOLDER"""

import argparse
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.attention import SDPBackend

from . import constants, exchanges, files, host, memory, products, taking
from .devices import Device, device_of
from .samples import Sample, sizes_for
from .team import Team, joined, launched, timed

EPILOG = """\
FOLDER gets constants.json, for --constants of `ashlar predict`; machine.json, for its
--cluster; and samples.json, all times. Shares in constants.json are of the figures in
machine.json, or of those of --machine: use them together. A constant has its median,
both ends and its spread over rounds, and says that it was measured and how. "assumed"
lists those that are the tool's own, and why; "checked" has the time of grouped products
by the formula over the measured one.

Start one process for each device with torchrun to measure exchanges, too. All
processes of a node are in one domain of fast links unless --domain says otherwise.
"""

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
GENERATIONS = sorted(
    {"volta", "ada", "ampere"}.union(
        {"hopper", "blackwell", "blackwell-ultra", "cdna2", "cdna3", "cdna4"}
    )
)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ashlar_pp.measure",
        description="Measure the constants of `ashlar predict` on this machine",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path, help="for the files it writes")
    parser.add_argument(
        "--minutes",
        type=float,
        default=10,
        help="most time in all: rounds end before it (default: 10)",
    )
    parser.add_argument(
        "--rounds", type=int, default=20, help="most rounds (default: 20)"
    )
    parser.add_argument(
        "--device",
        choices=["auto", "cuda", "cpu"],
        default="auto",
        help="default: a GPU where there is one",
    )
    parser.add_argument(
        "--precision",
        choices=list(DTYPES),
        help="of the program (default: bf16 on a GPU, fp32 on a processor)",
    )
    parser.add_argument(
        "--domain",
        type=int,
        help="processes that fast links join (default: those of a node)",
    )
    parser.add_argument(
        "--machine",
        type=pathlib.Path,
        metavar="FILE",
        help="a data sheet: shares are of its figures (default: of the highest "
        "measured ones)",
    )
    parser.add_argument(
        "--generation",
        choices=GENERATIONS,
        help="the most similar one, of a device that is not known",
    )
    parser.add_argument(
        "--size",
        type=float,
        default=1,
        help="of a processor's samples, at most 1 (default: 1)",
    )
    return parser


def attention_kinds(team: Team, device: Device) -> list[tuple[str, SDPBackend | None]]:
    if team.has_gpu and device.family == "hopper" and device.generation == "hopper":
        return [
            ("attention.hopper", SDPBackend.CUDNN_ATTENTION),
            ("attention.hopper.flash", SDPBackend.FLASH_ATTENTION),
        ]
    family = "blackwell" if device.family == "ultra" else device.family
    return [(f"attention.{family}", None)]


def all_samples(team: Team, device: Device, given: argparse.Namespace) -> list[Sample]:
    sizes = sizes_for(team, given.size)
    main = DTYPES[given.precision]
    other = torch.bfloat16 if main == torch.float32 else torch.float32
    made: list[Sample] = []
    made += memory.memory_samples(team, sizes, main)
    made += memory.copy_samples(team, sizes, main)
    made.append(memory.loss_sample(team, sizes, main))
    for dtype in (main, other):
        made += products.product_samples(team, sizes, dtype, device.units)
    made.append(products.group_sample(team, sizes, main, device.units))
    made += products.low_product_samples(team, sizes, device.units)
    for kind, backend in attention_kinds(team, device):
        made += products.attention_samples(team, sizes, main, kind, backend)
    made += exchanges.exchange_samples(team, sizes)
    made += exchanges.overlap_samples(team, sizes, main)
    made += host.host_samples(team)
    for sample in (host.graph_sample(team), host.exchange_launch_sample(team)):
        if sample is not None:
            made.append(sample)
    return made


def say(team: Team, text: str) -> None:
    if team.rank == 0:
        print(text, file=sys.stderr, flush=True)


def measure(
    team: Team, samples: list[Sample], rounds: int, end: float, least: float
) -> None:
    """Rounds over all samples; each ends before the time `end`, by the first's clock.

    Raises TimeoutError where not even one round does.
    """
    longest = 0.0
    for done in range(rounds):
        began = time.monotonic()
        if not team.agreed(float(done == 0 or began + 1.1 * longest < end)):
            break
        for sample in samples:
            if done == 0 and not team.agreed(float(time.monotonic() < end)):
                raise TimeoutError("one round takes longer than --minutes")
            clock = launched if sample.is_launch else timed
            sample.seconds.append(clock(team, sample.call, least))
            if done == 0:
                took = 1e3 * sample.seconds[-1]
                say(team, f"{sample.kind:>16}  {took:10.3f} ms  {sample.name}")
        longest = max(longest, time.monotonic() - began)
        left = max(0.0, end - time.monotonic())
        say(team, f"round {done + 1}: {longest:.0f} s, {left:.0f} s left")
    for sample in samples:
        sample.seconds = team.slowest(sample.seconds)


def run(given: argparse.Namespace) -> None:
    began = time.monotonic()
    end = began + 60 * given.minutes
    team = joined(given.domain, given.device)
    device = device_of(team, given.generation)
    given.precision = given.precision or ("bf16" if team.has_gpu else "fp32")
    figures = files.figures_of(given.machine) if given.machine else {}
    torch.manual_seed(0)
    say(team, f"{device.name}, {team.size} processes, {team.domain} in a domain")
    samples = all_samples(team, device, given)
    measure(team, samples, given.rounds, end, sizes_for(team, given.size).least)
    if team.rank == 0:
        bits = products.BITS[DTYPES[given.precision]]
        m = constants.Measured(samples, device, bits, figures)
        taking.take_all(m)
        given.folder.mkdir(parents=True, exist_ok=True)
        files.write(given.folder, "constants.json", files.constants_file(m, team))
        if not given.machine:
            files.write(given.folder, "machine.json", files.description(m, team))
        files.write(given.folder, "samples.json", files.samples_file(samples))
        for name, each in m.constants.items():
            print(f"{name:24} {each.value:10.4g}  {each.low:.4g} to {each.high:.4g}")
        for name, ratio in m.checked.items():
            print(f"{name}: {100 * (ratio - 1):+.0f} % by the formula")
        for name, reason in m.assumed.items():
            print(f"{name:24}    assumed  {reason}")
    team.meet()


def main() -> int:
    parser = arguments()
    given = parser.parse_args()
    for name, least in (("minutes", 0), ("rounds", 0), ("size", 0)):
        if not getattr(given, name) > least:
            parser.error(f"--{name} must be above {least}")
    if given.size > 1:
        parser.error("--size must be at most 1")
    try:
        run(given)
        if dist.is_initialized():
            dist.destroy_process_group()
    except (ValueError, OSError, TimeoutError) as e:
        print(f"{parser.prog}: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
