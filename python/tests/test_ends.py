"""A failure on one rank ends all soon, and all say why. Each case is in ends_ranks.py.
All of them run with ASHLAR_ALL_TESTS in the environment, otherwise a few.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

TIMEOUT = 8  # seconds, of the group
MOST = TIMEOUT + 15 + 15  # includes the start on a busy machine

FAILS = {
    # The rank that knows the reason, and its words. The other rank says them, too.
    "a forgotten target": (
        1,
        "ValueError: stage 1, the last, is on this rank: step.. needs the target",
    ),
    "forgotten inputs": (
        0,
        "ValueError: stage 0 is on this rank: step.. needs the inputs",
    ),
    "None": (0, "TypeError: stage 0 gives a NoneType"),
    "a dictionary": (0, "TypeError: stage 0 gives a dict"),
    "a list of lists": (0, "TypeError: stage 0 gives a list"),
    "nested tuples": (0, "TypeError: stage 0 gives a tuple"),
    "a number": (0, "TypeError: stage 0 gives a float"),
    "None later": (0, "TypeError: stage 0 gives a NoneType"),
    "a dictionary later": (0, "TypeError: stage 0 gives a dict"),
    "a longer output later": (
        0,
        r"stage 0 gives \(6, 6\) of torch.float64 for micro-batch 0",
    ),
    "a shorter output later": (
        0,
        r"stage 0 gives \(1, 6\) of torch.float64 for micro-batch 0",
    ),
    "another type later": (
        0,
        r"stage 0 gives \(2, 6\) of torch.float32 for micro-batch 0",
    ),
    "two tensors later": (
        0,
        r"stage 0 gives \(2, 6\) of torch.float64, \(2, 6\) of torch.float64 for "
        r"micro-batch 0",
    ),
    "another output": (1, "shapes cannot be multiplied"),
    "another type": (1, "must have the same dtype"),
    "another schedule": (1, "rank 0 runs another schedule than rank 1"),
    "rows that do not divide": (
        0,
        r"ValueError: a batch of shape \(9, 6\) has no 4 equal micro-batches",
    ),
    "a forward": (1, "ValueError: no reason"),
    "a forward of the first": (0, "ValueError: no reason"),
    "a backward": (0, "ValueError: no backward"),
    "a loss": (1, "KeyError: 'no label'"),
    "another method": (
        1,
        r"rank 1 calls step\(\), its call 2 of the pipeline, and rank 0 another "
        r"method, its call 2",
    ),
}
OUTSIDE = {
    # The rank that raises "no reason", and after how many calls.
    "an optimizer": (1, ", after 1 call of it"),
    "an optimizer of the first": (0, ", after 1 call of it"),
    "a loader": (1, ""),
    "a loader of the first": (0, ""),
}
LOST = {
    # The rank that is gone or hangs, how it ends, and what the other says.
    "an exit": (
        1,
        3,
        r"rank 1 has ended after 1 call of the pipeline, and this is call 2, step\(\)",
    ),
    "an exit of the first": (
        0,
        3,
        r"rank 0 has ended after 1 call of the pipeline, and this is call 2, step\(\)",
    ),
    "one more step": (
        1,
        0,
        r"rank 1 has ended after 2 calls of the pipeline, and this is call 3, step\(\)",
    ),
    "one step less": (
        0,
        0,
        r"rank 0 has ended after 2 calls of the pipeline, and this is call 3, step\(\)",
    ),
    "sleep in a pass": (
        1,
        1,
        r"rank 1 hangs at 1F2, since .* s \(ends_ranks.py:\d+ in sleep\): it has not "
        r"sent",
    ),
    "sleep in a pass of the first": (
        0,
        1,
        r"rank 0 hangs at 0F2, since .* s \(ends_ranks.py:\d+ in sleep\): it has not "
        r"sent",
    ),
    "a loop without end": (
        1,
        1,
        r"rank 1 hangs at 1F2, since .* s \(ends_ranks.py:\d+ in spin\)",
    ),
    "sleep between": (
        1,
        1,
        r"rank 1 does not come to step\(\), call 2 of the pipeline: .* now at "
        r"ends_ranks.py:\d+ in sleep",
    ),
    "sleep between of the first": (
        0,
        1,
        r"rank 0 does not come to step\(\), call 2 of the pipeline: .* in sleep",
    ),
    "killed in a pass": (
        1,
        -9,
        r"rank 1 is lost: its process \d+ on .* has ended. It has not sent .*stage 1 "
        r"for micro-batch 2",
    ),
    "killed in a pass of the first": (
        0,
        -9,
        r"rank 0 is lost: its process \d+ on .* has ended. It has not sent "
        r".*micro-batch 2",
    ),
    "killed between": (1, -9, r"rank 1 is lost: its process \d+ on .* has ended"),
    "stopped in a pass": (
        1,
        1,
        r"rank 1 is lost: its process \d+ on .* was stopped by a signal",
    ),
    "stopped between": (
        0,
        1,
        r"rank 0 is lost: its process \d+ on .* was stopped by a signal",
    ),
}
IN_THE_GATE = {
    "ashlar": [
        "a forgotten target",
        "a backward",
        "another method",
        "an optimizer of the first",
        "sleep in a pass",
        "longer rows",
    ],
    "pytorch": [
        "a dictionary",
        "a longer output later",
        "a loss",
        "one step less",
        "killed between",
        "longer rows",
    ],
}


@pytest.mark.parametrize("runtime", ["ashlar", "pytorch"])
def test_all_ranks_end_and_say_why(runtime):
    cases = [] if "ASHLAR_ALL_TESTS" in os.environ else IN_THE_GATE[runtime]
    line = [
        sys.executable,
        str(pathlib.Path(__file__).with_name("ends_ranks.py")),
        runtime,
        *cases,
    ]
    run = subprocess.run(
        line,
        capture_output=True,
        text=True,
        env=os.environ | {"ASHLAR_TEST_TIMEOUT": str(TIMEOUT)},
    )
    assert run.returncode == 0, run.stderr
    found = [json.loads(one) for one in run.stdout.splitlines()]
    assert [one["case"] for one in found] == cases or not cases
    faults = [
        f"{one['case']}: {fault}\n{one}" for one in found if (fault := fault_in(**one))
    ]
    assert not faults, "\n\n".join(faults)


def fault_in(case, runtime, ends, words):
    if None in ends or any(seconds > MOST for _, seconds in ends):
        return "it does not end in time"
    if any("terminate called" in text for text in words):
        return "it is ended by the run-time system"
    statuses = [status for status, _ in ends]
    if case in FAILS:
        rank, reason = FAILS[case]
        return missing(
            statuses == [1, 1],
            words[rank],
            reason,
            words[1 - rank],
            f"LostRank: rank {rank} failed at .*{reason}",
        )
    if case in OUTSIDE:
        rank, calls = OUTSIDE[case]
        reason = "ValueError: no reason"
        told = f"LostRank: rank {rank} failed outside of its pipeline{calls}: {reason}"
        return missing(statuses == [1, 1], words[rank], reason, words[1 - rank], told)
    if case in LOST:
        rank, status, reason = LOST[case]
        return missing(
            statuses[rank] == status and statuses[1 - rank] == 1,
            "",
            "",
            words[1 - rank],
            f"LostRank: {reason}",
        )
    return ANOTHER[case](runtime, statuses, words)


def missing(is_ended, words, reason, others_words, others_reason):
    if not is_ended:
        return "exit statuses"
    for text, wanted in ((words, reason), (others_words, others_reason)):
        if re.search(wanted, text) is None:
            return f"nobody says '{wanted}'"
    return ""


def longer_rows(runtime, statuses, words):
    """PyTorch's stages are made anew; our own runtime refuses other shapes."""
    if runtime == "pytorch":
        return "" if statuses == [0, 0] else "exit statuses"
    return missing(
        statuses == [1, 1],
        words[0],
        "shapes that differ need",
        words[1],
        "LostRank: rank 0 failed at the start of step",
    )


def longer_on_one(runtime, statuses, words):
    if runtime == "pytorch":
        return missing(
            statuses == [1, 1],
            words[1],
            "The size of tensor",
            words[0],
            "LostRank: rank 1 failed at",
        )
    return missing(
        statuses == [1, 1],
        words[0],
        "shapes that differ need",
        words[1],
        "LostRank: rank 0 failed at the start of step",
    )


ANOTHER = {
    "longer rows": longer_rows,
    "longer rows on one rank": longer_on_one,
    "another placement": lambda _, statuses, words: missing(
        statuses == [1, 1],
        words[1],
        "ValueError: the schedule has stages",
        words[0],
        "ValueError: rank 1 of the group cannot make",
    ),
    "other stages": lambda _, statuses, words: missing(
        statuses == [1, 1],
        words[0],
        "ValueError: the schedule has stages",
        words[1],
        "ValueError: rank 0 of the group cannot make",
    ),
    "before it is made": lambda _, statuses, words: missing(
        statuses == [1, 1],
        words[1],
        "ValueError: no reason",
        words[0],
        "LostRank: rank 1 is lost",
    ),
    "a barrier instead": lambda _, statuses, words: missing(
        statuses == [1, 1],
        words[0],
        "Timed out",
        words[1],
        "LostRank: rank 0 (failed outside of its pipeline|does not come to)",
    ),
}
