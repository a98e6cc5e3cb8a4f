"""Each constant of the cost model, from the samples that show it."""

import math
import statistics
from collections.abc import Callable, Sequence

from .constants import LEAST, Measured, solved
from .samples import Sample


def best(samples: Sequence[Sample], unit: str) -> float:
    """The most units a second of any sample."""
    return max(
        (each.terms.get(unit, 0.0) / statistics.median(each.seconds))
        for each in samples
    )


# How often a layer has a kernel, both ways; other kernels count once.
TIMES = {"sum and norm": 2}


def take_memory(m: Measured) -> float:
    """`memory`, `loss_bytes`. Returns bytes a second of such kernels: with it, those of
    a layer take as long together as they did.
    """
    samples = m.of("memory")
    times = [TIMES.get(each.name.split(",")[0], 1) for each in samples]
    moved = sum(n * each.terms["bytes"] for n, each in zip(times, samples))

    def rate_of(seconds: list[float]) -> float:
        return moved / sum(n * s for n, s in zip(times, seconds))

    rate = rate_of([statistics.median(each.seconds) for each in samples])
    count = min(len(each.seconds) for each in samples)
    rounds = [rate_of([each.seconds[at] for each in samples]) for at in range(count)]
    bandwidth = m.figure("memory_bandwidth", max(rate, best(m.of("copies"), "bytes")))
    apart = statistics.stdev(
        math.log(each.terms["bytes"] / statistics.median(each.seconds))
        for each in samples
    )
    m.plain(
        "memory",
        rate / bandwidth,
        [each / bandwidth for each in rounds],
        apart / math.sqrt(len(samples)),
        "norms, activations, rotations, AdamW, by the bytes that formulas count",
        most=1.0,
    )
    for sample in m.of("loss"):
        each = [s / sample.terms["logits"] * rate for s in sample.seconds]
        how = f"cross entropy of {sample.name} logits, both passes"
        m.plain("loss_bytes", statistics.median(each), each, 0, how)
    return rate


def take_products(m: Measured, memory_rate: float) -> None:
    """Shares of products by width, and `wave` and `traffic`."""
    main = m.of(f"products.{m.main_bits}")
    names = ("operations", "wave", "traffic")
    found = solved(main, names)
    how = f"{found.samples} shapes of products, misfit {100 * found.misfit:.0f} %"
    if found.value["operations"] > 0:
        rounds = found.rounds
        wave = found.value["wave"] / found.value["operations"]
        by_round = zip(rounds["wave"], rounds["operations"])
        waves = [w / x for w, x in by_round if x > 0] or [wave]
        traffic = found.value["traffic"] * memory_rate
        traffics = [x * memory_rate for x in rounds["traffic"]]
    else:  # all of them too small to tell
        wave, waves, traffic, traffics = LEAST, [LEAST], LEAST, [LEAST]
    m.plain("wave", wave, waves, found.misfit, how)
    m.plain("traffic", traffic, traffics, found.misfit, how, most=1.0)
    wave, traffic = m.constants["wave"].value, m.constants["traffic"].value
    for bits in (32, 16, 8):
        samples = m.of(f"products.{bits}")
        name = f"products.{m.device.family}.{bits}"
        if bits == 32:
            name = "products.hopper.32"  # one share for all families
        elif bits == 8 and m.device.family == "ampere":
            continue  # no such constant
        if not samples:
            m.assumed[name] = "this device, or this PyTorch, has no such products"
            continue
        # With the same waves and traffic, so that one unknown is left.
        lean = [
            Sample(
                each.kind,
                each.name,
                {"operations": each.terms["operations"] + wave * each.terms["wave"]},
                each.call,
                seconds=[
                    max(s - traffic / memory_rate * each.terms["traffic"], s / 10)
                    for s in each.seconds
                ],
            )
            for each in samples
        ]
        one = solved(lean, ("operations",))
        fastest = max(1 / one.value["operations"], best(samples, "operations"))
        figure = m.figure(f"peak.{bits}", fastest)
        words = f"{one.samples} shapes of products, misfit {100 * one.misfit:.0f} %"
        m.share(name, one, "operations", figure, words)


def check_groups(m: Measured, memory_rate: float) -> None:
    """How long grouped products take by the formula, over the measured time."""
    name = f"products.{m.device.family}.{m.main_bits}"
    share = m.constants["products.hopper.32" if m.main_bits == 32 else name].value
    rate = share * m.figures[f"peak.{m.main_bits}"]
    for each in m.of("groups"):
        operations = each.terms["operations"]
        operations += m.constants["wave"].value * each.terms["wave"]
        seconds = operations / rate
        seconds += m.constants["traffic"].value * each.terms["traffic"] / memory_rate
        m.checked[each.name] = seconds / statistics.median(each.seconds)


def take_attention(m: Measured) -> None:
    """A share by kernel, and exponentials a second where no sheet has them."""
    peak = m.figures[f"peak.{32 if m.main_bits == 32 else 16}"]
    for kind in dict.fromkeys(
        each.kind for each in m.samples if each.kind.startswith("attention")
    ):
        samples = m.of(kind)
        known = m.figures.get("exponentials")
        if known is None:
            found = solved(samples, ("operations", "exponentials"))
            each = found.value["exponentials"]
            # None seen: so many that they take no time.
            m.figure("exponentials", 1 / each if each > 0 else peak)
            known = m.figures["exponentials"]
        lean = [
            Sample(
                each.kind,
                each.name,
                {"operations": each.terms["operations"]},
                each.call,
                seconds=[
                    max(s - each.terms["exponentials"] / known, s / 10)
                    for s in each.seconds
                ],
            )
            for each in samples
        ]
        one = solved(lean, ("operations",))
        words = f"{one.samples} shapes, causal, misfit {100 * one.misfit:.0f} %"
        m.share(kind, one, "operations", peak, words)


def ratio_rounds(
    samples: dict[str, Sample], of: Callable[[dict[str, float]], float]
) -> list[float]:
    count = min(len(each.seconds) for each in samples.values())
    return [
        of({name: each.seconds[at] for name, each in samples.items()})
        for at in range(count)
    ]


def take_exchanges(m: Measured) -> None:
    samples = m.of("exchanges")
    if not samples:
        for name in ("link_inside", "link_outside", "latency"):
            m.assumed[name] = "one process exchanges nothing: start more by torchrun"
        return
    places = [
        place
        for place in ("inside", "outside")
        if any(place in each.terms for each in samples)
    ]
    found = solved(samples, (*places, "latency"))
    how = f"{found.samples} exchanges, misfit {100 * found.misfit:.0f} %"
    for place in places:
        if not found.value[place] > 0:
            m.assumed[f"link_{place}"] = "no exchange was long enough"
            continue
        here = [each for each in samples if place in each.terms]
        fastest = max(1 / found.value[place], best(here, place))
        figure = m.figure(f"link_{place}", fastest)
        m.share(f"link_{place}", found, place, figure, how)
    of_samples = found.misfit / math.sqrt(found.samples)
    latency, rounds = found.value["latency"], found.rounds["latency"]
    m.plain("latency", latency, rounds, of_samples, how)
    if "outside" not in places:
        m.assumed["link_outside"] = "all processes were in one domain"
    take_overlap(m)


def take_overlap(m: Measured) -> None:
    by_name = {each.name: each for each in m.of("overlap")}
    if len(by_name) < 4:
        return

    def lost(s: dict[str, float]) -> float:
        return (s["beside products"] - 2 * s["products"]) / s["sum"]

    def in_the_way(s: dict[str, float]) -> float:
        return (s["in the way"] - 2 * s["products"]) / s["sum"]

    shares = ratio_rounds(by_name, lost)
    value = statistics.median(shares)
    how = "a sum beside products that take longer"
    for name in ("contention", "data_exposed"):
        m.plain(name, value, shares, 0, how, most=1.0)
    shares = ratio_rounds(by_name, in_the_way)
    value = statistics.median(shares)
    m.plain("tensor_exposed", value, shares, 0, "a sum between products", most=1.0)


def take_host(m: Measured) -> None:
    names = ("host", "host_expert", "host_each_expert")
    found = solved(m.of("host"), names)
    for name in names:
        value, rounds = found.value[name], found.rounds[name]
        m.plain(name, value, rounds, found.misfit, "small layers, until calls return")
    for kind in ("host_update", "host_tensor"):
        samples = m.of(kind)
        if samples:
            one = solved(samples, (kind,))
            how = samples[0].name
            m.plain(kind, one.value[kind], one.rounds[kind], 0, how)
        else:
            m.assumed[kind] = "one process exchanges nothing: start more by torchrun"
    graphs = m.of("host_graphs")
    if graphs:
        one = solved(graphs, ("host_graphs",))
        host = found.value["host"]
        each = [x / host for x in one.rounds["host_graphs"]]
        value = one.value["host_graphs"] / host
        m.plain("host_graphs", value, each, 0, graphs[0].name, most=1.0)
    else:
        m.assumed["host_graphs"] = "no CUDA graphs here"


# Constants that no measurement here shows, with the reason.
NOT_MEASURED = {
    "scan_bytes": "PyTorch alone has no kernel of state spaces",
    "tensor_exposed.tuned": "it is of products in pieces, which a framework makes",
    "straggler": "it is of many nodes",
    "kept_plain": "it is a program's",
    "logit_bytes": "it is a program's",
    "logit_bytes.plain": "it is a program's",
    "framework_bytes": "it is a program's",
    "outside_bytes": "it is a program's",
}


def take_all(m: Measured) -> None:
    how = "an exponent: this device's limit of power is in its shares of products"
    m.plain("power", LEAST, [LEAST], 0, how)
    memory_rate = take_memory(m)
    take_products(m, memory_rate)
    check_groups(m, memory_rate)
    take_attention(m)
    take_exchanges(m)
    take_host(m)
    for name, reason in NOT_MEASURED.items():
        m.assumed.setdefault(name, reason)
