"""Runs torchtitan's own trainer on a CPU, with its debug model, under our schedule or
its own.

usage: torchtitan_rank.py WORK RESULT torchtitan's options…   (by torchrun, in a folder
of one's own)

WORK: JSON with `schedule` (the JSON of a schedule, or null), `adapt_after`,
`chunked_loss`, `names` (of modules, by stage), `frozen` (prefixes of the names of
parameters that are frozen once the trainer is made) and `fails` (whether the norm of
rank 1 raises an error). Weights depend on their names alone, so that placements can be
compared. Rank r writes its last stage's losses and its gradients of the first step to
RESULT.r.
"""

import dataclasses
import json
import pathlib
import sys
import zlib

# isort: split
# It comes before torchtitan, which asks torch for the kind of device when imported.
from torchtitan_on_cpu import assets, trainer, with_attention

# isort: split
import torch
from torch.distributed.tensor import DTensor, distribute_tensor
from torchtitan.config import ConfigManager
from torchtitan.models.llama3 import config_registry
from torchtitan.tools.logging import init_logger


def plain(name):
    return name.replace("_checkpoint_wrapped_module.", "")


class Trainer(trainer.Trainer):
    def __init__(self, config):
        super().__init__(config)
        self.gradients = {}
        for part in self.model_parts:
            for name, p in part.named_parameters():
                p.requires_grad_(
                    not work["frozen"] or not name.startswith(work["frozen"])
                )
        for part in self.model_parts:
            for name, p in part.named_parameters():
                made = torch.Generator().manual_seed(zlib.crc32(plain(name).encode()))
                whole = torch.randn(p.shape, generator=made) * 0.05 + ("norm" in name)
                with torch.no_grad():
                    p.copy_(
                        distribute_tensor(whole, p.device_mesh, p.placements)
                        if isinstance(p, DTensor)
                        else whole
                    )
        step = self.optimizers.step

        def remembering(*args, **more):
            if not self.gradients:
                for part in self.model_parts:
                    for name, p in part.named_parameters():
                        g = (
                            p.grad.full_tensor()
                            if isinstance(p.grad, DTensor)
                            else p.grad
                        )
                        self.gradients[plain(name)] = None if g is None else g.clone()
            return step(*args, **more)

        self.optimizers.step = remembering


work, result = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2]


def fail(*_):
    raise KeyError("no norm")


def main():
    sys.argv[1:] = sys.argv[3:]
    init_logger()
    assets()
    own = (
        config_registry.llama3_debugmodel
        if work["chunked_loss"]
        else config_registry.llama3_debugmodel_ce_loss
    )

    config_registry.debug_on_cpu = lambda: with_attention(own())
    asked = ConfigManager().parse_args()
    asked.parallelism.module_fqns_per_model_part = work["names"]
    if work["schedule"]:
        import ashlar_pp.torchtitan

        schedule = ashlar_pp.read_json(work["schedule"])
        run = ashlar_pp.torchtitan.pipelining(
            schedule, adapt_after=work["adapt_after"], budget=200
        )
        asked.model_spec = dataclasses.replace(asked.model_spec, pipelining_fn=run)
    losses = []
    one = Trainer(asked)
    if work["fails"] and torch.distributed.get_rank() == 1:
        one.model_parts[0].norm.register_forward_pre_hook(fail)
    log = one.metrics_processor.log
    one.metrics_processor.log = lambda step, loss, *more, **named: (
        losses.append(loss),
        log(step, loss, *more, **named),
    )
    one.train()
    torch.save(
        {"gradients": one.gradients, "losses": losses},
        f"{result}.{torch.distributed.get_rank()}",
    )
    one.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
