"""Replaces what torchtitan needs and a CPU lacks (import this first), and makes the
files of its debug model.

Replaced are functions that ask for a device, gloo's sums, and the attention.
"""

import json
import pathlib
import random
import types

import torch
import torch._utils

torch._utils._get_available_device_type = lambda: "cpu"
LACKING = {
    "get_device_name": lambda *_: "cpu",
    "get_device_properties": lambda *_: types.SimpleNamespace(
        total_memory=8 << 30, name="cpu"
    ),
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
from torchtitan.models.common.attention import ScaledDotProductAttention  # noqa: E402

own_division = fsdp.disable_fsdp_gradient_division


def sums_of_gloo(model):
    own_division(model)
    for module in model.modules():
        if isinstance(module, fsdp.FSDPModule):
            module.set_force_sum_reduction_for_comms(True)


fsdp.disable_fsdp_gradient_division = sums_of_gloo
# its barrier asks for device numbers
trainer.dist_utils.set_pg_timeouts = lambda **_: None


def assets():
    """Writes a tokenizer of bytes and a text of random words where the debug model
    looks for them.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    folder = pathlib.Path("tests/assets")
    for name in ("tokenizer", "c4_test"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(
        models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[])
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(
        [AddedToken("<bos>", special=True), AddedToken("<eos>", special=True)]
    )
    made.save(str(folder / "tokenizer/tokenizer.json"))
    special = {
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "add_bos_token": True,
        "add_eos_token": True,
    }
    (folder / "tokenizer/tokenizer_config.json").write_text(json.dumps(special))
    dice = random.Random(1)
    words = (
        "the of and pipeline schedule stage micro batch rank device sends waits".split()
    )
    lines = [
        json.dumps({"text": " ".join(dice.choices(words, k=60))}) for _ in range(100)
    ]
    (folder / "c4_test/data.json").write_text("\n".join(lines))


def with_attention(made):
    """Returns the configuration with an attention that CPUs support."""
    for layer in made.model_spec.model.layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    return made
