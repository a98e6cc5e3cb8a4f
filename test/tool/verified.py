#!/usr/bin/env python3
"""A verifier that shares nothing with the library judges what `ashlar` says of schedules, and is judged itself.

usage: verified.py ASHLAR PYTHON_FOLDER

* Of every schedule of `ashlar list`, in several sizes and costs, it refutes nothing, and shows all but the bounds, which need a certificate.
* Files of which one number or pass was changed are valid for both, or for neither; a figure that was changed is refuted.
* Its bounds are never above the best of all schedules, which this program finds by trying them, in random tiny cases: makespans of
  one route, and makespans and spans with several routes, recomputation, forwards alone, sequences in chunks, other graphs than chains,
  shards, and devices, links and micro-batches that differ.
"""
import collections
import copy
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ASHLAR = sys.argv[1]
sys.path.insert(0, sys.argv[2])

from ashlar_verify import claims_of  # noqa: E402
from ashlar_verify.bound import bound  # noqa: E402
from ashlar_verify.schedule import read  # noqa: E402

SIZES = [(2, 2), (2, 4), (3, 7), (4, 8)]
COSTS = [[], ["--forward", "2", "--backward-input", "3", "--backward-weight", "1", "--transfer", "1"]]


def emitted():
    """The JSON of each schedule in each size that it is for."""
    listed = subprocess.run([ASHLAR, "list"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.split("\n\n")[0].splitlines()[1:]]
    for name in names:
        for p, m in SIZES:
            for costs in COSTS:
                ran = subprocess.run(
                    [ASHLAR, "emit", name, "-p", str(p), "-m", str(m), "--as", "json", *costs], capture_output=True, text=True
                )
                if ran.returncode == 0:
                    yield f"{name} {p} {m}", json.loads(ran.stdout)


def state_of(document, name):
    return next((one.state for one in claims_of(document) if one.name == name), "open")


def must_show(found):
    states = collections.Counter()
    for name, document in found:
        for claim in claims_of(document):
            assert claim.state != "refuted", (name, str(claim))
            states[claim.name.rstrip("0123456789 "), claim.state] += 1
    for (claim, state), count in sorted(states.items()):
        print(f"{count:5} {state}: {claim}")
    assert states["valid", "shown"] == len(found)
    for (claim, state), count in states.items():
        assert (state == "open") == claim.startswith("no schedule has "), claim
        assert count == len(found), claim


def changed(document, dice):
    """One start, pass, device or cost of the file, or nothing but a figure of it."""
    made = copy.deepcopy(document)
    lines = [d for d, line in enumerate(made["orders"]) if line]
    d = dice.choice(lines)
    at = dice.randrange(len(made["orders"][d]))
    kind = dice.randrange(7)
    if kind == 0:
        made["starts"][d][at] = max(0, made["starts"][d][at] + dice.choice([-2, -1, 1, 2]))
    elif kind == 1:
        made["orders"][d].pop(at)
        made["starts"][d].pop(at)
    elif kind == 2:
        other = dice.randrange(len(made["orders"][d]))
        line = made["orders"][d]
        line[at], line[other] = line[other], line[at]
    elif kind == 3:
        token = made["orders"][d][at]
        made["orders"][d][at] = token.replace(token[-1], str(dice.randrange(made["micro_batches"])), 1)
    elif kind == 4:
        made["costs"]["transfer"] += dice.choice([1, 2])
    elif kind == 5:
        each = dice.choice(made["costs"]["per_stage"])
        each[dice.choice(["forward", "backward_input", "backward_weight"])] += dice.choice([1, 1, 2])
    else:
        route = dice.choice(made["placement"])
        route[dice.randrange(len(route))] = dice.randrange(made["devices"])
    return made


def must_agree(found, dice, cases):
    """With `ashlar check`, which reads starts as they are."""
    valid = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "changed.json")
        for name, document in dice.choices(found, k=cases):
            made = changed(document, dice)
            file.write_text(json.dumps(made))
            ran = subprocess.run([ASHLAR, "check", str(file)], capture_output=True, text=True)
            state = state_of(made, "valid")
            assert ran.returncode in (0, 1, 2), ran.stderr
            assert state == "open" or (state == "shown") == (ran.returncode == 0), (name, state, ran.stdout, ran.stderr, json.dumps(made))
            valid += state == "shown"
    print(f"{cases} changed files: {valid} valid for both")
    for name, document in dice.choices(found, k=cases):
        if state_of(document, "valid") != "shown":
            continue
        made = copy.deepcopy(document)
        figure = dice.choice(["makespan", "span", "busy", "bubble_rate", "overhead", "peak_activations"])
        if isinstance(made[figure], list):
            made[figure][dice.randrange(len(made[figure]))] += 1
        else:
            made[figure] += max(1, made.get("makespan", 1))
        assert any(claim.state == "refuted" for claim in claims_of(made)), (name, figure)


def instance(routes, route, lengths, costs, kinds, count, **more):
    """The passes on their devices, without an order. lengths: of F, I and W by row of costs. kinds: by stage and micro-batch."""
    orders = [[] for _ in range(count)]
    for (stage, k), of in kinds.items():
        orders[routes[route[k]][stage]] += [f"{stage}{kind}{k}" for kind in of]
    names = ("forward", "backward_input", "backward_weight")
    rows = [{**dict(zip(names, of)), "recompute": of[0]} for of in lengths]
    starts = [[0] * len(line) for line in orders]
    return read({"placement": routes, "route": route, "costs": {"per_stage": rows, **costs}, "orders": orders, "starts": starts, **more})


def highest(s, of, limits, splits):
    """The highest bound of all arguments."""
    devices = [d for d, line in enumerate(s.lines) if line]
    origins = [None] * (of == "makespan") + devices
    arguments = [{"by": by, "device": d} for by in ("work", "area") for d in devices]
    arguments += [{"by": "one machine", "device": d, "origin": origin} for d in devices for origin in origins]
    if not s.is_chain:
        arguments = [{"by": "work", "device": d} for d in devices]
    if splits == s.splits:
        arguments += [{"by": "path", "device": d, "origin": str(one)} for d in devices for one in s.lines[d]]
        arguments += [{"by": "path", "device": d} for d in devices if of == "makespan"]
    return max(bound(s, {"of": of, "limits": limits, "splits": splits, "argument": one}) for one in arguments)


def best(s, limits):
    """The least makespan of all schedules of the passes, by trying every order of dispatching."""
    devices = s.routes[0]
    kinds = "FIW" if any(one.kind == "W" for one in s.passes()) else "FB"
    back = kinds[1]
    own = [sum(s.length(kind, stage, devices[stage], 0) for kind in kinds) for stage in range(s.stages)]
    least = [sum(own) * s.micro_batches + 4 * s.costs["transfer"] * s.stages * s.micro_batches]
    seen = {}

    def go(ends, free, held):
        """ends: of passes that are dispatched. free: when each device is. held: when room comes back, by device."""
        if len(ends) == len(kinds) * s.stages * s.micro_batches:
            least[0] = min(least[0], max(ends.values()))
            return
        key = tuple(sorted(ends.items()))
        if key in seen:
            return
        seen[key] = True
        for stage in range(s.stages):
            d = devices[stage]
            for kind in kinds:
                for k in range(s.micro_batches):
                    if (kind, stage, k) in ends:
                        continue
                    if k > 0 and (kind, stage, k - 1) not in ends:
                        break  # micro-batches are alike
                    needs = {
                        "F": [("F", stage - 1, k)] if stage > 0 else [],
                        "W": [("I", stage, k)],
                        back: [("F", stage, k), *([(back, stage + 1, k)] if stage + 1 < s.stages else [])],
                    }[kind]
                    if any(one not in ends for one in needs):
                        break
                    start = max([free[d], *(ends[one] + s.link(devices[one[1]], devices[stage]) for one in needs)])
                    given, taken = held[d]
                    if kind == "F" and taken >= limits[d]:
                        if len(given) <= taken - limits[d]:
                            break
                        start = max(start, sorted(given)[taken - limits[d]])
                    end = start + s.length(kind, stage, d, k)
                    if end >= least[0]:
                        break
                    now = list(held)
                    now[d] = (given + (end,) if kind == kinds[-1] else given, taken + (kind == "F"))
                    go({**ends, (kind, stage, k): end}, [end if e == d else t for e, t in enumerate(free)], now)
                    break

    count = max(devices) + 1
    go({}, [0] * count, [((), 0)] * count)
    return least[0]


def must_be_below(dice, cases):
    met = 0
    for _ in range(cases):
        stages, count = dice.choice([(2, 2), (2, 2), (3, 2), (3, 3)])
        m = dice.randint(1, 3 if stages == 2 else 2)
        split = dice.random() < 0.5 and stages * m <= 4
        lengths = [[dice.randint(0, 4) for _ in range(3)] for _ in range(stages)]
        devices = [dice.randrange(count) for _ in range(stages)]
        kinds = {(stage, k): "FIW" if split else "FB" for stage in range(stages) for k in range(m)}
        s = instance([devices], [0] * m, lengths, {"transfer": dice.randint(0, 3)}, kinds, count)
        limits = [max(1, devices.count(d)) + dice.randint(0, 2) for d in range(count)]
        least, reached = highest(s, "makespan", limits, split), best(s, limits)
        assert least <= reached, (least, reached, s, limits)
        met += least == reached
    print(f"{cases} tiny cases: the bound is the best time in {met}")
    assert met > cases / 2


def lines_of(s, kinds, limits):
    """All orders of passes on devices that keep dependencies and limits, without those that only number micro-batches differently."""
    every = [(kind, stage, k) for k in range(s.micro_batches) for stage in range(s.stages) for kind in kinds[stage, k]]
    found, seen = set(), set()
    what = [(s.route[k], [kinds[stage, k] for stage in range(s.stages)]) for k in range(s.micro_batches)]
    differ = s.chunks > 1 or s.period > 1
    alike = [max((j for j in range(k) if what[j] == what[k] and not differ), default=None) for k in range(s.micro_batches)]

    def go(lines, left):
        if lines in seen:
            return
        seen.add(lines)
        if not left:
            found.add(lines)
        for one in left:
            kind, stage, k = one
            d = s.device_of(stage, k)
            if set(needs_of(s, kinds, one)) & left or (kind, stage, alike[k]) in left:
                continue
            held = sum((other[0] == "F") - (other[0] == kinds[other[1:]][-1]) for other in lines[d]) if kinds[0, 0] != "F" else 0
            if kind == "F" and held >= limits[d]:
                continue
            go((*lines[:d], (*lines[d], one), *lines[d + 1 :]), left - {one})

    go(((),) * len(limits), frozenset(every))
    return found


def needs_of(s, kinds, one):
    kind, stage, k = one
    if kind == "F":
        return [("F", before, k) for before in s.before[stage]] + [("F", stage, k - 1)] * (k % s.chunks > 0)
    needs = [(kinds[stage, k][kinds[stage, k].index(kind) - 1], stage, k)]
    if kind in "BI":
        needs += [("F" if after in s.early else kind, after, k) for after in s.after[stage]]
        needs += [("F", shard, k) for shard in s.shards.get(stage, []) if shard != stage]
        needs += [(kind, stage, k + 1)] * (k % s.chunks < s.chunks - 1)
    return needs


def times_of(s, kinds, lines):
    """The makespan of the orders, and the longest path from the first pass of a device to its last: no span is shorter. None: a cycle."""
    before = {one: line[i - 1] if i else None for line in lines for i, one in enumerate(line)}
    spans, ends = [], {}
    for origin in [None, *(line[0] for line in lines if line)]:
        ends = {}

        def end(one):
            if one not in ends:
                ends[one] = None  # on the way
                needs = [(other, s.link(*(s.device_of(of[1], one[2]) for of in (other, one)))) for other in needs_of(s, kinds, one)]
                needs += [(before[one], 0)] if before[one] else []
                known = [(end(other), hop) for other, hop in needs]
                start = max([0 if origin in (None, one) else -1000, *(at + hop for at, hop in known)])
                ends[one] = start + s.length(one[0], one[1], s.device_of(*one[1:]), one[2])
            return ends[one]

        try:
            spans.append(max(end(line[-1]) for line in lines if line and (origin is None or line[0] == origin)))
        except TypeError:
            return None
    return spans[0], max(spans[1:])


def random_instance(dice):
    """On several routes, with recomputation or forwards alone; or with sequences in chunks, a graph of stages, or shards."""
    kind = dice.choice(["routes", "routes", "chunks", "graph", "shards"])
    stages, m = dice.choice([(2, 2), (2, 2), (1, 3), (2, 1)] if kind == "routes" else [(2, 2), (1, 2)] if kind == "chunks" else [(3, 1)])
    routes = [[dice.randrange(2) for _ in range(stages)] for _ in range(dice.choice([1, 2]) if kind == "routes" else 1)]
    route = [dice.randrange(len(routes)) for _ in range(m)]
    back = dice.choice(["", "B", "B", "IW"] if stages * m < 4 else ["", "B"])
    more = {}
    if kind == "chunks":
        more["sequence_chunks"] = 2
    elif kind == "graph":
        more["stage_edges"] = dice.choice([[[0, 2], [1, 2]], [[0, 1], [0, 2]], [[0, 1]], [[0, 1], [0, 2], [1, 2]]])
    elif kind == "shards":
        back = "B"
        more = {"stage_edges": [[0, 1], [0, 2]], "shards": [[1, 2]], "shard_gradients": dice.choice(["of_forward", "of_backward"])}
    most = 0.6 * dice.randrange(2) * (kind == "routes")  # of stages and micro-batches, some recompute, or none
    kinds = {(stage, k): "F" + "R" * (back != "" and dice.random() < most) + back for stage in range(stages) for k in range(m)}
    costs = {"transfer": dice.randint(0, 3)}
    if dice.random() < 0.3:
        costs["speeds"] = [dice.choice([50, 100, 130]) for _ in range(2)]
    if dice.random() < 0.3:
        costs["links"] = [{"from": 0, "to": 1, "transfer": dice.randint(0, 5)}]
    period = 1
    if len({*route}) == 1 and dice.random() < 0.4:
        period = 2 if kind == "chunks" else m
        costs["sequence_chunks" if kind == "chunks" else "micro_batches"] = period
    lengths = [[dice.randint(0, 4) for _ in range(3)] for _ in range(stages * period)]
    limits = [dice.randint(1, 3) + max(of.count(d) for of in routes) for d in range(2)]
    if kind in ("graph", "shards"):  # bounds are for any memory
        limits = [stages * m] * 2
    return instance(routes, route, lengths, costs, kinds, 2, **more), kinds, limits, "W" in back


def must_be_below_of_all_kinds(dice, cases):
    """In makespan and span."""
    met = [0, 0]
    for _ in range(cases):
        s, kinds, limits, splits = random_instance(dice)
        found = [times for lines in lines_of(s, kinds, limits) if (times := times_of(s, kinds, lines)) is not None]
        if not found:
            continue
        for i, of in enumerate(("makespan", "span")):
            least, reached = highest(s, of, limits, splits), min(times[i] for times in found)
            assert least <= reached, (of, least, reached, s.__dict__, kinds, limits)
            met[i] += least == reached
    print(f"{cases} tiny cases of all kinds: the bound is the best makespan in {met[0]}, the best span in {met[1]}")
    assert min(met) > cases / 3


def main():
    dice = random.Random(7)
    found = list(emitted())
    must_show(found)
    must_agree([one for one in found if state_of(one[1], "valid") != "open"], dice, 150)
    must_be_below(dice, 200)
    must_be_below_of_all_kinds(dice, 300)
    assert state_of([], "valid") == "open" and state_of({"orders": 3, "starts": []}, "valid") == "refuted"


if __name__ == "__main__":
    main()
