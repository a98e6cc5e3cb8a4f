#!/usr/bin/env python3
"""Wrong certificates: none is accepted that running the program refutes.

usage: certificates.py ASHLAR PYTHON_FOLDER [CASES]

* Each program of `ashlar list`, in several sizes and lanes, has a certificate that holds, or the tool says that it has none.
* CASES certificates (3000) have a random change in the program or in the witness. In many of them the witness is made anew for the
  changed program, or for one in which some waits are left out. Where the verifier accepts one, the program is run: each lane advances when it can, slots hold terms that say how
  they came about, and the gradients in the end must be those of the model. Peaks are counted from their definition.
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

SIZES = [(2, 2), (2, 4), (3, 5), (4, 8)]
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
            ran = subprocess.run(line, capture_output=True, text=True)
            assert ran.returncode in (0, 2, 4), ran.stderr
            assert (ran.returncode == 4) == ("no certificate for " in ran.stdout), (ran.returncode, ran.stdout)
            if ran.returncode in (0, 4):
                yield f"{name} {p} {m}", json.loads(file.read_text())["certificates"]


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
        self.again = {(one[2], one[3]) for stream in self.streams for one in stream if one[1] == "R"}
        self.accesses = [[self.accesses_of(one) for one in stream] for stream in self.streams]

    def accesses_of(self, one):
        """The slots of an instruction in their order, each with r, w or a."""
        what = one[1].rstrip("+")
        if what in ("send", "receive"):
            return [(one[7], "r" if what == "send" else "w")]
        if what in ("clear", "reduce"):
            return [(one[4], "w" if what == "clear" else "a")]
        s, k = one[2:4]
        ways = {
            "F": "r" * len(self.before[s]) + "w" * bool(self.after[s]) + "w" * ((s, k) in self.again) + "w",
            "R": "rw",
            "B": "r" * len(self.after[s]) + "r" + "w" * len(self.before[s]) + "wa",
            "I": "r" * len(self.after[s]) + "r" + "w" * len(self.before[s]) + "w",
            "W": "rra",
        }[what]
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
                    on |= {other for other, way in uses[slot] if (way, how) != ("r", "r") and not self.is_ignored(how)}
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
                if self.ignored == "meetings" and one[1] in ("send", "receive", "reduce"):
                    starting.append([(d, at)])
                elif one[1] == "send":
                    way, other = numbers[d, at], None
                    for e, there in ready:
                        if numbers.get((e, there)) == ("receive", *way[1:]):
                            other = (e, there)
                    if other is not None:
                        starting.append([(d, at), other])
                elif one[1] == "reduce":
                    holders = {route[one[3]] for route in self.c["placement"]}
                    met = [(e, there) for e, there in ready if self.streams[e][there][1] == "reduce" and self.streams[e][there][3] == one[3]]
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
        return self.ignored == ("reads" if how == "r" else "writes")

    def happen(self, together):
        d, at = together[0]
        what = self.streams[d][at][1]
        if what == "send":
            (e, there) = together[1]
            one, other = self.streams[d][at], self.streams[e][there]
            self.slots[e][other[7]] = self.slots[d][one[7]]
        elif what == "reduce":
            stage = self.streams[d][at][3]
            added = {e: self.slots[e][self.streams[e][there][4]] for e, there in together}
            if stage in self.reduced or any(not isinstance(of, list) for of in added.values()):
                raise Refuted("a sum of nothing, or twice")
            self.reduced[stage] = {e: list(of) for e, of in added.items()}
            for e, there in together:
                self.slots[e][self.streams[e][there][4]] = ["a sum"]
        elif what == "clear":
            self.slots[d][self.streams[d][at][4]] = []
        else:
            for d, at in together:
                self.compute(d, at)

    def compute(self, d, at):
        one = self.streams[d][at]
        what, s, k = one[1].rstrip("+"), one[2], one[3]
        if self.c["placement"][self.c["route"][k]][s] != d:
            raise Refuted("a pass on another device")
        accesses, slots = self.accesses[d][at], self.slots[d]
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
        back = "B" if ("B", s, k) in passes else "I"
        if what in "FR":
            state = [] if first else [of("F", s, k - 1)["state"]]
        if what == "F":
            read = tuple([of("F", one, k)["out"] for one in run.before[s]] + state)
            number, made = len(run.before[s]), {}
            for name in ["out"] * bool(run.after[s]) + ["kept"] * again + ["stash"]:
                made[name] = hash(("F", s, k, read, 0 if again else number))
                number += 1
            number += not first
            made["state"] = hash(("F", s, k, read, 0 if again else number))
        elif what == "R":
            made = {"stash": hash(("again", s, k, tuple([of("F", s, k)["kept"]] + state)))}
        else:
            stash = of("R" if again else "F", s, k)["stash"]
            if what == "W":
                made = {"sum": hash(("W", s, k, (stash, of("I", s, k)["stash"])))}
            else:
                grads = [of("B" if ("B", one, k) in passes else "I", one, k)[s] for one in run.after[s]]
                later = [] if last else [of("B" if ("B", s, k + 1) in passes else "I", s, k + 1)["state"]]
                read, number, made = tuple(grads + [stash] + later), len(grads) + 1, {}
                for name in [*run.before[s], "stash"]:
                    made[name] = hash((what, s, k, read, number))
                    number += 1
                number += (back == "B") + (not last)
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
            one[1] = dice.choice(["F", "B", "I", "W", "R", "F+", "send", "receive", "clear", "reduce"])
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
        accepted = is_accepted(made)
        try:
            Run(made, dice).refute()
            wrong = ""
        except (Refuted, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
            wrong = f"{type(error).__name__} {error}"
        assert not (accepted and wrong), (name, wrong, json.dumps(made))
        counts["accepted" if accepted else "refused, and wrong" if wrong else "refused, though it runs"] += 1
        counts["stuck"] += "stuck" in wrong
    print(f"{cases} changed certificates: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    assert counts["refused, and wrong"] > cases / 2


def main():
    dice = random.Random(11)
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    with tempfile.TemporaryDirectory() as folder:
        found = list(certified(folder, dice))
    programs = [(name, one) for name, certificates in found for one in certificates if one["certificate"] == "program"]
    for name, one in programs:
        assert is_accepted(one), (name, [str(claim) for claim in claims_of({"ashlar_certificates": 1, "certificates": [one]})])
        if sum(map(len, one["streams"])) < SMALL:
            Run(one, dice).refute()
    print(f"{len(programs)} programs have a certificate that holds")
    assert len(programs) > 80
    must_refute([one for one in programs if sum(map(len, one[1]["streams"])) < SMALL], dice, cases)


if __name__ == "__main__":
    main()
