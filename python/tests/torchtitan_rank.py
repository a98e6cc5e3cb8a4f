"""torchtitan's own trainer on a CPU: its debug model, under a schedule of ours or as it is.

usage: torchtitan_rank.py WORK RESULT torchtitan's options…   (by torchrun, in a folder of one's own)

WORK: JSON with `schedule` (the JSON of a schedule, or null), `adapt_after`, `chunked_loss`. What CPUs lack is
replaced: functions that ask for a device, gloo's sums, an attention that CPUs have; and weights depend on their names
alone, so that placements can be compared. Rank r writes what its last stage's losses and its gradients of the first
step are to RESULT.r.
"""

import dataclasses
import json
import pathlib
import random
import sys
import types
import zlib

import torch
import torch._utils

torch._utils._get_available_device_type = lambda: "cpu"
LACKING = {
    "get_device_name": lambda *_: "cpu",
    "get_device_properties": lambda *_: types.SimpleNamespace(total_memory=8 << 30, name="cpu"),
    "reset_peak_memory_stats": lambda *_: None,
    "empty_cache": lambda: None,
    "memory_stats": lambda *_: {},
    "memory": types.SimpleNamespace(),
}
for name, function in LACKING.items():
    if not hasattr(torch.cpu, name):
        setattr(torch.cpu, name, function)
torch.set_num_threads(1)

import torchtitan.distributed.fsdp as fsdp  # noqa: E402
import torchtitan.trainer as trainer  # noqa: E402
from torch.distributed.tensor import DTensor, distribute_tensor  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.models.common.attention import ScaledDotProductAttention  # noqa: E402
from torchtitan.models.llama3 import config_registry  # noqa: E402
from torchtitan.tools.logging import init_logger  # noqa: E402

own_division = fsdp.disable_fsdp_gradient_division


def sums_of_gloo(model):
    own_division(model)
    for module in model.modules():
        if isinstance(module, fsdp.FSDPModule):
            module.set_force_sum_reduction_for_comms(True)


fsdp.disable_fsdp_gradient_division = sums_of_gloo
trainer.dist_utils.set_pg_timeouts = lambda **_: None  # its barrier asks for device numbers


def assets():
    """A tokenizer of bytes and a text of random words, where the debug model looks for them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    folder = pathlib.Path("tests/assets")
    for name in ("tokenizer", "c4_test"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<bos>", special=True), AddedToken("<eos>", special=True)])
    made.save(str(folder / "tokenizer/tokenizer.json"))
    special = {"bos_token": "<bos>", "eos_token": "<eos>", "add_bos_token": True, "add_eos_token": True}
    (folder / "tokenizer/tokenizer_config.json").write_text(json.dumps(special))
    dice = random.Random(1)
    words = "the of and pipeline schedule stage micro batch rank device sends waits".split()
    lines = [json.dumps({"text": " ".join(dice.choices(words, k=60))}) for _ in range(100)]
    (folder / "c4_test/data.json").write_text("\n".join(lines))


def plain(name):
    return name.replace("_checkpoint_wrapped_module.", "")


class Trainer(trainer.Trainer):
    def __init__(self, config):
        super().__init__(config)
        self.gradients = {}
        for part in self.model_parts:
            for name, p in part.named_parameters():
                made = torch.Generator().manual_seed(zlib.crc32(plain(name).encode()))
                whole = torch.randn(p.shape, generator=made) * 0.05 + ("norm" in name)
                with torch.no_grad():
                    p.copy_(distribute_tensor(whole, p.device_mesh, p.placements) if isinstance(p, DTensor) else whole)
        step = self.optimizers.step

        def remembering(*args, **more):
            if not self.gradients:
                for part in self.model_parts:
                    for name, p in part.named_parameters():
                        g = p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad
                        self.gradients[plain(name)] = None if g is None else g.clone()
            return step(*args, **more)

        self.optimizers.step = remembering


def main():
    work, result = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2]
    sys.argv[1:] = sys.argv[3:]
    init_logger()
    assets()
    own = config_registry.llama3_debugmodel if work["chunked_loss"] else config_registry.llama3_debugmodel_ce_loss

    def config():
        made = own()
        for layer in made.model_spec.model.layers:
            layer.attention.inner_attention = ScaledDotProductAttention.Config()
        return made

    config_registry.debug_on_cpu = config
    asked = ConfigManager().parse_args()
    if work["schedule"]:
        import ashlar_pp.torchtitan

        schedule = ashlar_pp.read_json(work["schedule"])
        run = ashlar_pp.torchtitan.pipelining(schedule, adapt_after=work["adapt_after"], budget=200)
        asked.model_spec = dataclasses.replace(asked.model_spec, pipelining_fn=run)
    losses = []
    one = Trainer(asked)
    log = one.metrics_processor.log
    one.metrics_processor.log = lambda step, loss, *more, **named: (
        losses.append(loss),
        log(step, loss, *more, **named),
    )
    one.train()
    torch.save({"gradients": one.gradients, "losses": losses}, f"{result}.{torch.distributed.get_rank()}")
    one.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
