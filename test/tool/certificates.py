#!/usr/bin/env python3
"""Wrong certificates: none is accepted that running the program refutes.

usage: certificates.py ASHLAR PYTHON_FOLDER [CASES [SEED]]

* Each schedule of `ashlar list`, with its bounds and its program, has certificates that hold, in several sizes, costs and lanes, or the
  tool says that it has none. So have schedules that are searched for.
* CASES certificates (2000) have a random change in the program or in the witness. In many of them the witness is made anew for the
  changed program, or for one in which some waits are left out. Where the verifier accepts one, the program is run: each lane advances when it can, slots hold terms that say how
  they came about, and the gradients in the end must be those of the model. Peaks are counted from their definition.
* As many certificates of schedules are changed. Where the verifier accepts one, its passes and figures are checked pair by pair and tick
  by tick, and all orders of the passes are tried for one that is shorter than a bound.
"""
import collections
import copy
import json
import math
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ASHLAR = sys.argv[1]
sys.path.insert(0, sys.argv[2])

import verified  # noqa: E402
from ashlar_verify import claims_of  # noqa: E402
from ashlar_verify.schedule import read  # noqa: E402

SIZES = [(2, 2), (2, 4), (3, 5), (4, 8)]
COSTS = [[], [], ["--forward", "2", "--backward-input", "3", "--backward-weight", "1", "--transfer", "1"]]
OTHERS = [
    "search -p 2 -m 3 --placement linear --limit 2 --budget 100",
    "search -p 2 -m 2 --placement v --limit 3 --objective makespan --transfer 1 --budget 100",
    "search -p 4 -m 8 --placement looped --memory 0.75 --forward 2ms --backward-input 3ms --backward-weight 1ms --transfer 1us --budget 9",
    "search -p 4 -m 8 --memory 0.5 --budget 50",
    "search -p 4 -m 8 --placement linear --limit 2 --checkpoint 6% --budget 50",
    "compare -p 2 -m 4 --forward 1ms --backward-input 2ms --backward-weight 1.5ms --transfer 100us",
    "compare 1f1b zb-h1 v-half -p 3 -m 5",
    "frontier -p 3 -m 4 --placement v --steps 3 --budget 50 --from 0.2",
    "frontier -p 2 -m 2 --steps 1 --from 1 --budget 20",
]
LANES = ["one", "one", "one-a-peer", "one-a-direction", "one-a-kind"]
SMALL = 150
"""Instructions of a program that is changed."""


def certified(folder, dice):
    """The name and the certificates of each schedule in each size that it is for."""
    listed = subprocess.run([ASHLAR, "list"], capture_output=True, text=True, check=True).stdout
    for name in [line.split()[0] for line in listed.split("\n\n")[0].splitlines()[1:]]:
        for p, m in SIZES:
            file = Path(folder, "certificate.json")
            line = [ASHLAR, "check", name, "-p", str(p), "-m", str(m), "--lanes", dice.choice(LANES), "--certificate", str(file)]
            ran = subprocess.run([*line, *dice.choice(COSTS)], capture_output=True, text=True)
            assert ran.returncode in (0, 2, 4), ran.stderr
            assert (ran.returncode == 4) == ("no certificate for " in ran.stderr), (ran.returncode, ran.stderr)
            if ran.returncode in (0, 4):
                yield f"{name} {p} {m}", json.loads(file.read_text())["certificates"]
    for name in ["1f1b", "zb-h1", "depth-first", "v-half"]:
        for level in ["optimizer", "weights"]:
            csv = Path(folder, "sharded.csv")
            line = [ASHLAR, "emit", name, "-p", "2", "-m", "4", "--as", "pytorch-comms", "--data-ranks", "2", "--sharding", level]
            subprocess.run([*line, "-o", str(csv)], capture_output=True, check=True)
            subprocess.run([ASHLAR, "check", str(csv), "--certificate", str(file)], capture_output=True, check=True)
            yield f"{name} {level}", json.loads(file.read_text())["certificates"]
    for asked in OTHERS:
        ran = subprocess.run([ASHLAR, *asked.split(), "--certificate", str(file)], capture_output=True, text=True)
        assert ran.returncode == (4 if "no certificate for " in ran.stderr else 0), (asked, ran)
        yield asked, json.loads(file.read_text())["certificates"]


def is_accepted(certificate):
    claims = claims_of({"ashlar_certificates": 1, "certificates": [certificate]})
    return bool(claims) and all(claim.state == "shown" for claim in claims)


class Refuted(Exception):
    pass


class Run:
    """One run of a program, and a witness of it. ignored: waits that do not count: reads, writes, lanes or meetings."""

    def __init__(self, c, dice, ignored=""):
        self.c, self.dice, self.ignored = c, dice, ignored
        self.stages = len(c["placement"][0])
        edges = c.get("stage_edges", [[one, one + 1] for one in range(self.stages - 1)])
        self.before = [[a for a, b in edges if b == s] for s in range(self.stages)]
        self.after = [[b for a, b in edges if a == s] for s in range(self.stages)]
        self.streams, self.q = c["streams"], c.get("sequence_chunks", 1)
        self.shards = {one: layer for layer in c.get("shards", []) for one in layer}
        self.early = {one for one in self.shards if c.get("shard_gradients") == "of_forward"}
        self.sharded = c.get("sharded", False)
        self.again = {(one[2], one[3]) for stream in self.streams for one in stream if one[1] == "R"}
        self.accesses = [[self.accesses_of(one) for one in stream] for stream in self.streams]

    def accesses_of(self, one):
        """The slots of an instruction in their order, each with r, w or a; v: reads weights."""
        what = one[1].rstrip("+")
        if what in ("send", "receive"):
            return [(one[7], "r" if what == "send" else "w")]
        if len(what) > 1:
            return list(zip(one[4:], {"reduce": "a", "reduce_shard": "a", "scatter": "ra"}.get(what, "w")))
        s, k = one[2:4]
        gives = "w" * len(self.before[s])
        ahead = "w" * bool(self.after[s] or s in self.shards) + gives * (s in self.early) + "w" * ((s, k) in self.again)
        back = "r" * (len(self.after[s]) + 1 + len(self.shards.get(s, ()))) + gives * (s not in self.early)
        ways = {"F": "r" * len(self.before[s]) + ahead + "w", "R": "rw", "B": back + "wa", "I": back + "w", "W": "rra"}[what]
        ways += "v" * self.sharded
        first, last = k % self.q == 0, k % self.q == self.q - 1
        ways += {"F": "r" * (not first) + "w" * (not last), "R": "r" * (not first), "W": ""}.get(what, "r" * (not last) + "w" * (not first))
        if len(ways) != len(one) - 4:
            raise Refuted("slots")
        return list(zip(one[4:], ways))

    def lane(self, one):
        return one[2] if len(one[1]) > 2 else 0

    def run(self):
        """Runs to the end. Notes the turn of each instruction, and what is in each slot."""
        waits = []
        for d, stream in enumerate(self.streams):
            of = []
            uses = collections.defaultdict(list)
            for at in range(len(stream)):
                on = set()
                for slot, how in self.accesses[d][at]:
                    if not 0 <= slot < len(self.c["slots"][d]):
                        raise Refuted("no such slot")
                    on |= {other for other, way in uses[slot] if not {way, how} <= {"r", "v"} and not self.is_ignored(how)}
                for slot, how in self.accesses[d][at]:
                    uses[slot].append((at, how))
                of.append(on)
            waits.append(of)
        queues = {}
        for d, stream in enumerate(self.streams):
            for at, one in enumerate(stream):
                queues.setdefault((d, at if self.ignored == "lanes" else self.lane(one)), []).append(at)
        self.turns = [[-1] * len(stream) for stream in self.streams]
        self.slots = [[None] * len(kinds) for kinds in self.c["slots"]]
        self.reduced = {}
        sent = collections.defaultdict(int)
        turn, left = 0, sum(map(len, self.streams))
        up = {key: 0 for key in queues}
        numbers = {}
        for d, stream in enumerate(self.streams):
            for at, one in enumerate(stream):
                if one[1] in ("send", "receive"):
                    way = (one[1], d, one[6]) if one[1] == "send" else (one[1], one[6], d)
                    numbers[d, at] = (*way, sent[way])
                    sent[way] += 1
        while left:
            ready = {}
            for (d, lane), queue in queues.items():
                if up[d, lane] == len(queue):
                    continue
                at = queue[up[d, lane]]
                group = [at]
                if self.streams[d][at][1].endswith("+"):
                    if at + 1 >= len(self.streams[d]) or self.lane(self.streams[d][at + 1]) != 0 or len(self.streams[d][at + 1][1]) > 1:
                        raise Refuted("a pair without its second")
                    group.append(at + 1)
                elif self.ignored == "lanes" and at > 0 and self.streams[d][at - 1][1].endswith("+"):
                    continue  # with the one before
                if all(self.turns[d][other] >= 0 for one in group for other in waits[d][one]):
                    ready[d, at] = group
            starting = []
            for (d, at), group in ready.items():
                one = self.streams[d][at]
                if self.ignored == "meetings" and one[1] in ("send", "receive", "reduce", "reduce_shard"):
                    starting.append([(d, at)])
                elif one[1] == "send":
                    way, other = numbers[d, at], None
                    for e, there in ready:
                        if numbers.get((e, there)) == ("receive", *way[1:]):
                            other = (e, there)
                    if other is not None:
                        starting.append([(d, at), other])
                elif one[1].startswith("reduce"):
                    holders = {route[one[3]] for route in self.c["placement"]}
                    met = [(e, there) for e, there in ready if self.streams[e][there][1] == one[1] and self.streams[e][there][3] == one[3]]
                    if {e for e, _ in met} == holders:
                        starting.append(met)
                elif one[1] != "receive":
                    starting.append([(d, one) for one in group])
            if not starting:
                raise Refuted("stuck")
            together = self.dice.choice(starting)
            if not self.ignored:
                self.happen(together)
            for d, at in together:
                self.turns[d][at] = turn
                up[d, at if self.ignored == "lanes" else self.lane(self.streams[d][at])] += 1
                left -= 1
            turn += 1
        return self

    def is_ignored(self, how):
        return self.ignored == ("reads" if how in "rv" else "writes")

    def happen(self, together):
        d, at = together[0]
        what = self.streams[d][at][1]
        if what == "send":
            (e, there) = together[1]
            one, other = self.streams[d][at], self.streams[e][there]
            self.slots[e][other[7]] = self.slots[d][one[7]]
        elif what.startswith("reduce"):
            stage = self.streams[d][at][3]
            added = {e: self.slots[e][self.streams[e][there][4]] for e, there in together}
            if stage in self.reduced or any(not isinstance(of, list) for of in added.values()):
                raise Refuted("a sum of nothing, or twice")
            self.reduced[stage] = {e: list(of) for e, of in added.items()}
            for e, there in together:
                self.slots[e][self.streams[e][there][4]] = ["a sum"]
        elif what.startswith("clear"):
            self.slots[d][self.streams[d][at][4]] = []
        elif what in ("gather", "release"):
            self.slots[d][self.streams[d][at][4]] = ("weights", self.streams[d][at][3]) if what == "gather" else None
        elif what == "scatter":
            source, target = (self.slots[d][slot] for slot in self.streams[d][at][4:])
            if not isinstance(source, list) or not isinstance(target, list):
                raise Refuted("a sum of nothing")
            target += source
        else:
            for d, at in together:
                self.compute(d, at)

    def compute(self, d, at):
        one = self.streams[d][at]
        what, s, k = one[1].rstrip("+"), one[2], one[3]
        if self.c["placement"][self.c["route"][k]][s] != d:
            raise Refuted("a pass on another device")
        accesses, slots = self.accesses[d][at], self.slots[d]
        if any(how == "v" and slots[slot] != ("weights", s) for slot, how in accesses):
            raise Refuted("other weights")
        read = tuple(slots[slot] if not isinstance(slots[slot], list) else "a sum" for slot, how in accesses if how == "r")
        for number, (slot, how) in enumerate(accesses):
            if how == "w":
                # The stash of a recompute is that of the forward, whose inputs are in the checkpoint.
                again = what == "R" or (what == "F" and (s, k) in self.again)
                slots[slot] = hash((what, s, k, read, number if not again else 0)) if what != "R" else hash(("again", s, k, read))
            elif how == "a":
                if not isinstance(slots[slot], list):
                    raise Refuted("adds to what is no sum")
                slots[slot].append((k, hash((what, s, k, read))))

    def refute(self):
        """Whether the outcome and the claims are wrong."""
        self.run()
        want = model(self)
        if self.c["training"]:
            if self.reduced.keys() != set(range(self.stages)):
                raise Refuted("no sum")
            for stage, parts in self.reduced.items():
                if sorted(one for of in parts.values() for one in of) != sorted(want[stage]):
                    raise Refuted("other gradients")
        elif sorted((one[1], *one[2:4]) for stream in self.streams for one in stream if len(one[1]) == 1) != sorted(want):
            raise Refuted("other passes")
        if self.sums() != sorted(self.c["sums"]) or self.peaks() != self.c["peaks"]:
            raise Refuted("claims")

    def sums(self):
        parts = collections.defaultdict(list)
        for d, stream in enumerate(self.streams):
            for one in stream:
                if one[1].rstrip("+") in ("B", "W"):
                    parts[d, one[2]].append(one[3])
        return sorted([d, s, *ks] for (d, s), ks in parts.items())

    def peaks(self):
        found = []
        for d, stream in enumerate(self.streams):
            kinds = self.c["slots"][d]
            used = [self.times_of(d, slot) for slot in range(len(kinds))]
            of = {}
            for kind in sorted(set(kinds)):
                counts = [sum(at in times for times, own in zip(used, kinds) if own == kind) for at in range(len(stream))]
                of[kind] = [max(counts, default=0), counts.index(max(counts)) if counts else 0]
            found.append(of)
        return found

    def times_of(self, d, slot):
        """Those at which it is in use: from each write to the last use of what was written."""
        times, since = set(), None
        for at, accesses in enumerate(self.accesses[d]):
            for one, how in accesses:
                if one == slot:
                    since = at if how == "w" else since
                    times |= set(range(since, at + 1)) if since is not None else set()
        return times


def model(run):
    """The gradients of each stage by micro-batch: the same terms without slots and streams."""
    passes = {(one[1].rstrip("+"), *one[2:4]) for stream in run.streams for one in stream if len(one[1]) <= 2}
    if not run.c["training"]:
        return [("F", s, k) for s in range(run.stages) for k in range(len(run.c["route"]))]
    outputs = {}

    def of(what, s, k):
        """What a pass writes, in its order."""
        if (what, s, k) in outputs:
            return outputs[what, s, k]
        first, last, again = k % run.q == 0, k % run.q == run.q - 1, (s, k) in run.again
        gives = run.before[s]
        back = "B" if ("B", s, k) in passes else "I"
        if what in "FR":
            state = [] if first else [of("F", s, k - 1)["state"]]
        if what == "F":
            read = tuple([of("F", one, k)["out"] for one in run.before[s]] + state)
            number, made = len(run.before[s]), {}
            for name in ["out"] * bool(run.after[s] or s in run.shards) + gives * (s in run.early) + ["kept"] * again + ["stash"]:
                made[name] = hash(("F", s, k, read, 0 if again else number))
                number += 1
            number += (not first) + run.sharded
            made["state"] = hash(("F", s, k, read, 0 if again else number))
        elif what == "R":
            made = {"stash": hash(("again", s, k, tuple([of("F", s, k)["kept"]] + state)))}
        else:
            stash = of("R" if again else "F", s, k)["stash"]
            if what == "W":
                made = {"sum": hash(("W", s, k, (stash, of("I", s, k)["stash"])))}
            else:
                grads = [of("F" if one in run.early else "B" if ("B", one, k) in passes else "I", one, k)[s] for one in run.after[s]]
                met = [of("F", one, k)["out"] for one in run.shards.get(s, ())]
                later = [] if last else [of("B" if ("B", s, k + 1) in passes else "I", s, k + 1)["state"]]
                read, number, made = tuple(grads + [stash] + met + later), len(grads) + 1 + len(met), {}
                for name in [*(gives if s not in run.early else []), "stash"]:
                    made[name] = hash((what, s, k, read, number))
                    number += 1
                number += (back == "B") + (not last) + run.sharded
                made["state"] = hash((what, s, k, read, number))
                made["sum"] = hash((what, s, k, read))
        outputs[what, s, k] = made
        return made

    return [
        [(k, of("B" if ("B", s, k) in passes else "W", s, k)["sum"]) for k in range(len(run.c["route"]))] for s in range(run.stages)
    ]


def changed(certificate, dice):
    """One change of the program, or two."""
    c = copy.deepcopy(certificate)
    for _ in range(dice.choice([1, 1, 1, 2])):
        stream = dice.choice([stream for stream in c["streams"] if stream])
        at, other = dice.randrange(len(stream)), dice.randrange(len(stream))
        one = stream[at]
        kind = dice.randrange(13)
        if kind <= 2:  # a number of an instruction
            i = dice.choice([i for i in range(len(one)) if i != 1])
            one[i] = dice.choice([one[i] + 1, max(0, one[i] - 1), dice.randrange(8)])
        elif kind == 3:  # the order of two
            stream[at], stream[other] = stream[other], stream[at]
        elif kind == 4:  # the order of neighbours, with their turns
            other = min(at + 1, len(stream) - 1)
            stream[at], stream[other] = stream[other], stream[at]
            stream[at][0], stream[other][0] = stream[other][0], stream[at][0]
        elif kind == 5:
            stream.pop(at) if len(stream) > 1 else None
        elif kind == 6:
            stream.insert(other, copy.deepcopy(one))
        elif kind == 7:  # two slots of one kind become one, or a stage moves
            d = dice.randrange(len(c["streams"]))
            if dice.random() < 0.7 and c["slots"][d]:
                a, b = dice.randrange(len(c["slots"][d])), dice.randrange(len(c["slots"][d]))
                c["slots"][d][a] = c["slots"][d][b]
            else:
                route = dice.choice(c["placement"])
                route[dice.randrange(len(route))] = dice.randrange(len(c["streams"]))
        elif kind == 8:
            names = ["F", "B", "I", "W", "R", "F+", "send", "receive", "clear", "reduce", "clear_shard", "reduce_shard", "scatter"]
            one[1] = dice.choice(names)
        elif kind <= 11:  # the place of one or a few
            length = dice.randint(1, 3)
            run = stream[at : at + length]
            del stream[at : at + length]
            other = max(0, at + dice.randint(-6, 6))
            stream[other:other] = run
        else:  # the witness
            which = dice.choice(["sums", "peaks", "route"])
            if which == "route":
                c["route"][dice.randrange(len(c["route"]))] = dice.randrange(len(c["placement"]))
            elif which == "sums" and c["sums"]:
                line = dice.choice(c["sums"])
                a, b = dice.randrange(len(line)), dice.randrange(len(line))
                line[a], line[b] = line[b], line[a]
            else:
                peaks = dice.choice([of for of in c["peaks"] if of])
                peaks[dice.choice(list(peaks))][dice.randrange(2)] += dice.choice([-1, 1])
    return c


def changed_schedule(certificate, dice):
    """One change of the schedule, or of what is claimed."""
    c = copy.deepcopy(certificate)
    d = dice.choice([d for d, line in enumerate(c["orders"]) if line])
    tokens, starts = c["orders"][d], c["starts"][d]
    at, other = dice.randrange(len(tokens)), dice.randrange(len(tokens))
    kind = dice.randrange(12)
    if kind <= 1:
        starts[at] = max(0, starts[at] + dice.choice([-2, -1, 1, 2]))
    elif kind == 2:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 3:
        tokens[at] = dice.choice(tokens)
    elif kind == 4:
        each = dice.choice(c["costs"]["per_stage"])
        each[dice.choice(["forward", "backward_input", "backward_weight"])] += dice.choice([-1, 1])
    elif kind == 5:
        c["costs"]["transfer"] = max(0, c["costs"]["transfer"] + dice.choice([-1, 1]))
    elif kind == 6:
        c["route"][dice.randrange(len(c["route"]))] = dice.randrange(len(c["placement"]))
    elif kind == 7:
        figure = dice.choice(["makespan", "span", "busy", "peak_activations"])
        of, i = (c, figure) if isinstance(c[figure], int) else (c[figure], dice.randrange(len(c[figure])))
        of[i] += dice.choice([-1, 1])
    else:
        one = dice.choice(c["bounds"])
        if kind <= 9:
            one["least"] += dice.choice([-1, 1, 1, 2])
        elif kind == 10 and "limits" in one:
            i = dice.randrange(len(one["limits"]))
            one["limits"][i] += dice.choice([-1, 1])
        else:
            what = dice.choice(["by", "device", "origin", "of", "splits"])
            one["argument"]["by"] = dice.choice(["work", "one machine", "area", "path"]) if what == "by" else one["argument"]["by"]
            one["argument"].update({what: dice.randrange(len(c["orders"]))} if what in ("device", "origin") else {})
            one.update({"of": dice.choice(["makespan", "span"])} if what == "of" else {"splits": not one.get("splits")} if what == "splits" else {})
    return c


def length_of(c, letter, stage, k, d):
    costs = c["costs"]
    period = len(costs["per_stage"]) // len(c["placement"][0])
    row = costs["per_stage"][stage * period + k % period]
    names = {"F": ["forward"], "R": ["recompute"], "I": ["backward_input"], "W": ["backward_weight"]}
    speed = costs["speeds"][d] if "speeds" in costs else 100
    return sum(math.ceil(Fraction(100 * row[name], speed)) for name in names.get(letter, ["backward_input", "backward_weight"]))


def hop_of(c, a, b):
    """The ticks of a message: an exception, or that of the widest group of devices which it leaves."""
    costs = c["costs"]
    if a == b:
        return 0
    found = [one["transfer"] for one in costs.get("links", []) if (one["from"], one["to"]) == (a, b)]
    groups = [(costs.get("node_size", 0), costs.get("transfer_between_nodes", 0))]
    groups += [(one["devices"], one["transfer"]) for one in costs.get("levels", [])]
    found += [ticks for size, ticks in reversed(groups) if size and a // size != b // size]
    return [*found, costs["transfer"]][0]


def refute_schedule(c):
    """Checks each rule and figure from its definition."""
    ends, kinds = {}, collections.defaultdict(str)
    for d, (tokens, starts) in enumerate(zip(c["orders"], c["starts"])):
        spans, before = [], ""
        for token, start in zip(tokens, starts):
            letter = next(one for one in token if one.isalpha())
            stage, k = map(int, token.split(letter))
            length = length_of(c, letter, stage, k, d)
            if (letter, stage, k) in ends or c["placement"][c["route"][k]][stage] != d:
                raise Refuted("a pass is there twice, or on another device")
            ends[letter, stage, k] = [start, start + length]
            kinds[stage, k] += letter
            if before == "F" and letter in "BIW" and spans[-1][0] == start < spans[-1][1]:  # a pair, one after the other
                spans[-1][1] = ends[letter, stage, k][1] = spans[-1][1] + length
                before = ""
                continue
            spans.append(ends[letter, stage, k])
            before = letter
        for i, one in enumerate(spans):
            if any(min(one[1], other[1]) > max(one[0], other[0]) for other in spans[:i]) or (i and one[0] < spans[i - 1][0]):
                raise Refuted("two at once")
        if c["busy"][d] != sum(one[1] - one[0] for one in spans):
            raise Refuted("busy")
    stages, m = len(c["placement"][0]), len(c["route"])
    if any("".join(sorted(kinds[stage, k].replace("R", ""))) not in ("F", "BF", "FIW") for stage in range(stages) for k in range(m)):
        raise Refuted("passes")
    trains = any(len(of) > 1 for of in kinds.values())

    def check(before, after):
        hop = hop_of(c, *(c["placement"][c["route"][one[2]]][one[1]] for one in (before, after)))
        if ends[after][0] < ends[before][1] + hop:
            raise Refuted("before its input")

    def back(stage, k):
        return ("B" if "B" in kinds[stage, k] else "I", stage, k)

    edges = c.get("stage_edges", [[one, one + 1] for one in range(stages - 1)])
    q, layers = c.get("sequence_chunks", 1), c.get("shards", [])
    early = {one for layer in layers for one in layer if c.get("shard_gradients") == "of_forward"}
    for k in range(m):
        for one, other in edges:
            check(("F", one, k), ("F", other, k))
            if trains:
                check(("F", other, k) if other in early else back(other, k), back(one, k))
        for one, other in [(one, other) for layer in layers for one in layer for other in layer]:
            check(("F", one, k), back(other, k))
        for stage in range(stages):
            if k % q:
                check(("F", stage, k - 1), ("F", stage, k))
            if k % q and trains:
                check(back(stage, k), back(stage, k - 1))
            if trains:
                check(("R" if "R" in kinds[stage, k] else "F", stage, k), back(stage, k))
            if "R" in kinds[stage, k]:
                check(("F", stage, k), ("R", stage, k))
            if "W" in kinds[stage, k]:
                check(("I", stage, k), ("W", stage, k))
    makespan = max(end for _, end in ends.values())
    own = [[ends[one] for one in ends if c["placement"][c["route"][one[2]]][one[1]] == d] for d in range(len(c["orders"]))]
    span = max(max(end for _, end in of) - min(start for start, _ in of) for of in own if of)
    last = {key: ends["B" if "B" in of else "W" if trains else "F", *key][1] for key, of in kinds.items()}
    held = [[0] * (makespan + 1) for _ in c["orders"]]
    for stage, k in kinds:
        for tick in range(ends["F", stage, k][0], last[stage, k]):
            held[c["placement"][c["route"][k]][stage]][tick] += 1
    if (c["makespan"], c["span"], c["peak_activations"]) != (makespan, span, [max(of) for of in held]):
        raise Refuted("figures")
    for one in c["bounds"]:
        least = least_of(c, one)
        if least is not None and one["least"] > least:
            raise Refuted(f"a schedule takes {least}")


KNOWN = {}


def least_of(c, one):
    """The least makespan or span of all schedules, if there are few."""
    keys = ["orders", "starts", "placement", "route", "costs", "stage_edges", "sequence_chunks", "shards", "shard_gradients"]
    s = read({key: c[key] for key in keys if key in c})
    limits, splits = one.get("limits", [s.stages * s.micro_batches] * len(c["orders"])), one.get("splits", s.splits)
    again = {p.stage for p in s.passes() if p.kind == "R"}
    key = json.dumps([[c.get(key) for key in keys[2:]], one["of"], limits, splits, s.trains, sorted(again)])
    count = s.stages * s.micro_batches
    if key in KNOWN or any(of["forward"] == 0 for of in s.costs["per_stage"]):
        return KNOWN.get(key)
    is_plain = s.is_chain and s.chunks == 1 and not c["costs"].keys() - {"per_stage", "transfer"}
    if is_plain and one["of"] == "makespan" and len(s.routes) == 1 and s.trains and not again and count <= 4:
        if splits == s.splits:
            KNOWN[key] = verified.best(s, limits)
    elif count * (2 if s.trains else 1) + len(again) * s.micro_batches <= 8 and not splits:
        kinds = {(stage, k): "F" + "R" * (stage in again) + "B" * s.trains for stage in range(s.stages) for k in range(s.micro_batches)}
        found = [verified.times_of(s, kinds, lines) for lines in verified.lines_of(s, kinds, limits)]
        found = [times[one["of"] == "span"] for times in found if times is not None]
        KNOWN[key] = min(found) if found else None
    return KNOWN.get(key)


def must_refute_documents(programs):
    """Of other forms: claims that stand beside what is checked, or nothing that could be."""
    forwards = next(one for one in programs.values() if not one["training"])
    assert not is_accepted({**forwards, "slots": [], "peaks": []})
    chunks = next(one for one in programs.values() if "sequence_chunks" in one)
    for change in ({"sequence_chunks": 0}, {"streams": 3}, {"placement": []}, {"training": None}, {"more": 1}):
        assert not is_accepted({**chunks, **change}), change
    for document in ({"ashlar_certificates": 2, "certificates": []}, {"ashlar_certificates": 1}, {"ashlar_certificates": 1, "certificates": []}):
        assert [claim.state for claim in claims_of(document)] in (["open"], ["refuted"]), document


def must_refute_spans(schedules):
    """The bound of a makespan, as that of a span which is no shorter."""
    count = 0
    for certificate in schedules:
        for one in certificate["bounds"]:
            if one["of"] == "makespan" and one["argument"]["by"] == "one machine" and "origin" not in one["argument"]:
                if one["least"] <= certificate["span"]:
                    assert not is_accepted({**certificate, "bounds": [{**one, "of": "span"}]})
                    count += 1
    assert count > 5, count


def must_refute_schedules(found, dice, cases):
    counts = collections.Counter()
    for name, certificate in dice.choices(found, k=cases):
        made = changed_schedule(certificate, dice)
        accepted, wrong = is_accepted(made), ""
        counts["accepted" if accepted else "refused"] += 1
        if accepted:
            try:
                refute_schedule(made)
            except Refuted as error:
                wrong = str(error)
            counts["of these with a bound below all schedules"] += any(least_of(made, one) is not None for one in made["bounds"])
        assert not wrong, (name, wrong, json.dumps(made))
    print(f"{cases} changed certificates of schedules: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))


def is_right(name, made, dice):
    """Whether the verifier accepts it, and why a run refutes it; the test fails if both."""
    accepted, wrong = is_accepted(made), ""
    try:
        Run(made, dice).refute()
    except (Refuted, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        wrong = f"{type(error).__name__} {error}"
    assert not (accepted and wrong), (name, wrong, json.dumps(made))
    return accepted, wrong


def must_refute(found, dice, cases):
    counts = collections.Counter()
    for name, certificate in dice.choices(found, k=cases):
        made = changed(certificate, dice)
        if dice.random() < 0.75:
            try:  # a witness that fits the changed program, if it runs without some of the waits
                run = Run(made, dice, dice.choice(["", "", "reads", "writes", "lanes", "meetings"])).run()
                for stream, turns in zip(made["streams"], run.turns):
                    for one, turn in zip(stream, turns):
                        one[0] = turn
                made["sums"], made["peaks"] = run.sums(), run.peaks()
                counts["with a new witness"] += 1
            except (Refuted, IndexError, KeyError, TypeError, ValueError):
                pass
        accepted, wrong = is_right(name, made, dice)
        counts["accepted" if accepted else "refused, and wrong" if wrong else "refused, though it runs"] += 1
        counts["stuck"] += "stuck" in wrong
    print(f"{cases} changed certificates of programs: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    assert counts["refused, and wrong"] > cases / 2


def must_refute_swaps(found, dice):
    """Neighbours of a stream that change places, and keep the turns of these."""
    wrongs = count = 0
    for name, certificate in found:
        for stream in certificate["streams"]:
            for at in range(len(stream) - 1):
                before = stream[at : at + 2]
                stream[at : at + 2] = [[before[0][0], *before[1][1:]], [before[1][0], *before[0][1:]]]
                wrongs += is_right(name, certificate, dice)[1] != ""
                stream[at : at + 2] = before
                count += 1
    print(f"{count} swaps of neighbours in programs with recomputation: {wrongs} are wrong, and refused")


def main():
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 11
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        found = list(certified(folder, dice))
    kinds = {kind: [(name, one) for name, all_of in found for one in all_of if one["certificate"] == kind] for kind in ("program", "schedule")}
    for kind, certificates in kinds.items():
        for name, one in certificates:
            assert is_accepted(one), (name, [str(claim) for claim in claims_of({"ashlar_certificates": 1, "certificates": [one]})])
            if kind == "schedule":
                refute_schedule(one)
            elif sum(map(len, one["streams"])) < SMALL:
                Run(one, dice).refute()
        print(f"{len(certificates)} certificates of {kind}s hold")
        assert len(certificates) > 100
    must_refute_documents(dict(kinds["program"]))
    must_refute_spans([one for _, one in kinds["schedule"]])
    small = [one for one in kinds["program"] if sum(map(len, one[1]["streams"])) < SMALL]
    must_refute(small, dice, cases)
    must_refute_swaps([one for one in small if any(of[1] == "R" for stream in one[1]["streams"] for of in stream)], dice)
    must_refute_schedules([one for one in kinds["schedule"] if one[1]["bounds"] and one[1]["makespan"] < 100], dice, cases)


if __name__ == "__main__":
    main()
