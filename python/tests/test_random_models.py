"""Each step of a random model in a pipeline is the model's own, with the same random
numbers, or is refused.

As a program, `python test_random_models.py RANKS FIRST COUNT` tries COUNT seeds, and
prints the outcomes.
"""

import collections
import sys

from launching import on_ranks

CLOSE = 1e-11
"""Relative tolerance of numbers in double precision whose sums are in another order."""


def tried(seeds, world):
    """Outcomes of each seed on all ranks: refused, or the difference to the model
    alone.
    """
    found, left = {}, list(seeds)
    while left:
        ranks = on_ranks("several", world, left, script="random_ranks.py")
        done = [seed for seed in left if all(str(seed) in rank for rank in ranks)]
        for seed in done:
            found[seed] = [rank[str(seed)] for rank in ranks]
        assert done, ranks
        left = left[len(done) :]
    return found


def wrong(found):
    """Outcomes of the seeds whose steps are neither the model's own nor refused, with a
    reason, on every rank.
    """
    return {
        seed: of
        for seed, of in found.items()
        if not (
            all(one.get("far", 1) <= CLOSE for one in of)
            or all(len(one.get("refused", "")) > 20 for one in of)
        )
    }


def test_steps_of_random_models_are_the_models_own_or_refused():
    found = tried(range(20), 2)
    assert wrong(found) == {}
    assert sum("far" in of[0] for of in found.values()) >= 12


def test_on_four_ranks_too():
    """Groups of some ranks, such as those that share weights, must not block later
    groups.
    """
    found = tried(range(6), 4)
    assert wrong(found) == {}
    assert sum("far" in of[0] for of in found.values()) >= 3


if __name__ == "__main__":
    ranks, first, count = map(int, sys.argv[1:])
    all_found = {}
    for begin in range(first, first + count, 20):
        found = tried(range(begin, min(begin + 20, first + count)), ranks)
        all_found |= found
        for seed, of in wrong(found).items():
            print(seed, of, flush=True)
        print(
            f"{len(all_found)} tried: "
            f"{sum('far' in of[0] for of in all_found.values())} as the model alone",
            flush=True,
        )
    why = collections.Counter(
        of[0]["refused"][:90] for of in all_found.values() if "refused" in of[0]
    )
    for words, times in why.most_common():
        print(f"{times} refused: {words} ...")
    sys.exit(bool(wrong(all_found)))
