"""Constants of `ashlar predict`, measured on this machine.

    python -m ashlar_pp.measure mine
    torchrun --nproc-per-node 8 -m ashlar_pp.measure mine

Each measured time is a sum of terms of the cost model's formulas, linear in unknowns
that constants come from. `samples` has the sums, `taking` solves them.
"""
