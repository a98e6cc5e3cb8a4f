"""Checks what Ashlar says of a schedule, and shares nothing with it: the standard
library alone, and its own reading of the file.

    python -m ashlar_verify FILE ...

FILE: the JSON of `ashlar emit --as json`, or of `--certificate`. Each claim in it is

* shown: it follows from the orders, starts and costs of the file by the arguments of
  this package;
* refuted: it does not hold;
* open: these arguments do not decide it, and the words say why.

`schedule.py` has validity, times and memory; `bound.py` has lower bounds; `program.py`
has instructions and slots; `division.py` has stages of a model's parts; `deal.py` has
samples in micro-batches; `partition.py` has stages of operators; `tradeoff.py` has the
cost of trainings; `plan.py` has layouts on a cluster.
"""

from .claims import Claim, claims_of

__all__ = ["Claim", "claims_of"]
