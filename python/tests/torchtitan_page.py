"""Runs the program of docs/torchtitan.md on a CPU.

usage: torchtitan_page.py PROGRAM torchtitan's options…   (by torchrun, in a folder of
one's own)
"""

import pathlib
import sys

# isort: split
# It comes before torchtitan, which asks torch for the kind of device when imported.
from torchtitan_on_cpu import assets, with_attention

# isort: split
from torchtitan.models.llama3 import config_registry

own = config_registry.llama3_debugmodel_ce_loss
config_registry.llama3_debugmodel_ce_loss = lambda: with_attention(own())
assets()
program = sys.argv.pop(1)
exec(
    compile(pathlib.Path(program).read_text(), program, "exec"),
    {"__name__": "__main__"},
)
