"""Writes the cases of record.py: cases.py FOLDER HEALTHY FAULTY SNAPSHOTS SEED."""

import json
import pathlib
import random
import sys

LOOPS = {
    "pytorch": ["gpipe", "1f1b", "interleaved", "zbv"],
    "titan": ["gpipe", "1f1b", "interleaved", "zbv"],
    "megatron": ["batched", "shapes", "single"],
    "ashlar": ["1f1b", "gpipe"],
}
FAULTS = ["drop", "size", "dtype", "kind", "stop", "die"]
CROSSING = ["communicators", "kinds", "sends", "blocking", "ring", "lazy", "batches"]


def loops_of(ranks):
    return [loop for loop in LOOPS if loop != "titan" or ranks == 4]


def case(name, loop, schedule, draw, **more):
    return {
        "name": name,
        "loop": loop,
        "schedule": schedule,
        "steps": draw.choice([2, 3]),
        "eager": draw.random() < 0.3,
        "kept": 2000,
        **more,
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    healthy, faulty, snapshots, seed = map(int, sys.argv[2:6])
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    for ranks in (4, 3, 2):
        cases = []
        for kind, count in (("h", healthy), ("s", snapshots), ("f", faulty)):
            for k in range(count // 3):
                loop = draw.choice(loops_of(ranks))
                schedule = draw.choice(LOOPS[loop])
                name = f"{kind}{ranks}_{k:03}_{loop}_{schedule}"
                if kind == "f" and k % 8 == 0 and ranks != 3:
                    schedule = draw.choice(CROSSING)
                    cases.append(
                        case(
                            f"f{ranks}_{k:03}_crossing_{schedule}",
                            "crossing",
                            schedule,
                            draw,
                            fault={"what": "self"},
                        )
                    )
                elif kind == "f":
                    fault = {
                        "what": FAULTS[k % len(FAULTS)],
                        "rank": draw.randrange(ranks),
                        "at": draw.randrange(3, 30),
                    }
                    cases.append(
                        case(
                            f"{name}_{fault['what']}", loop, schedule, draw, fault=fault
                        )
                    )
                elif kind == "s":
                    cases.append(
                        case(
                            name, loop, schedule, draw, snapshot=draw.uniform(0.05, 0.6)
                        )
                    )
                else:
                    cases.append(case(name, loop, schedule, draw))
        (folder / f"ranks{ranks}.json").write_text(json.dumps(cases, indent=0))


if __name__ == "__main__":
    main()
