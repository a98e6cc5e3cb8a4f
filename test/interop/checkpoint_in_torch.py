#!/usr/bin/env python3
"""The model of our checkpoints in PyTorch: from the weights of one checkpoint and the tokens of the next step it computes the loss
and the gradients of that step, which are in the next checkpoint, and the weights that Adam makes of them. In double, to 1e-12.

usage: checkpoint_in_torch.py ASHLAR

Exit code 77, for CTest to skip it, without torch or safetensors.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from safetensors.torch import load_file
    from torch.nn.functional import cross_entropy, embedding, gelu, layer_norm, linear, scaled_dot_product_attention
except ImportError as missing:
    print(f"skipped: this Python has no package {missing.name}, which reads the checkpoints or computes the model")
    sys.exit(77)

BLOCKS, WIDTH, HEADS, CONTEXT, SEQUENCES, MICRO_BATCHES = 3, 24, 3, 16, 2, 3
STEPS, RATE, BETA1, BETA2, EPSILON, CLIP, SEED = 3, 3e-3, 0.9, 0.98, 1e-8, 1.0, 7
TOLERANCE = 1e-12
WORD = 2**64 - 1
TEXT = "".join(f"{i} stones and {i * i % 97} joints; " for i in range(400)).encode()


def numbers_of_seed(seed):
    """std::mt19937_64 (Matsumoto and Nishimura's 64-bit Mersenne Twister)."""
    state = [seed & WORD]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) & WORD)
    while True:
        for i in range(312):
            x = (state[i] & 0xFFFFFFFF80000000) | (state[(i + 1) % 312] & 0x7FFFFFFF)
            state[i] = state[(i + 156) % 312] ^ (x >> 1) ^ (0xB5026F5AA96619E9 if x & 1 else 0)
        for x in state:
            x ^= (x >> 29) & 0x5555555555555555
            x ^= (x << 17) & 0x71D67FFFEDA60000
            x ^= (x << 37) & 0xFFF7EEE000000000
            yield x ^ (x >> 43)


def seed_of(name):
    value = 14695981039346656037 ^ (SEED * 0x9E3779B97F4A7C15 & WORD)
    for byte in name.encode():
        value = (value ^ byte) * 1099511628211 & WORD
    return value


def tokens_of_batch(number):
    """Inputs and targets, sequences of all micro-batches x context."""
    text = torch.tensor(list(TEXT[: len(TEXT) - len(TEXT) // 10]))
    draw = numbers_of_seed(seed_of(f"step {number}"))
    starts = [next(draw) % (len(text) - CONTEXT) for _ in range(MICRO_BATCHES * SEQUENCES)]
    passages = torch.stack([text[at:at + CONTEXT + 1] for at in starts])
    return passages[:, :-1], passages[:, 1:]


def loss_of(w, inputs, targets):
    def norm(name, x):
        return layer_norm(x, (WIDTH,), w[f"{name}.gain"].flatten(), w[f"{name}.bias"].flatten())

    def dense(name, x):
        return linear(x, w[f"{name}.weight"].T, w[f"{name}.bias"].flatten())

    x = embedding(inputs, w["embedding.tokens"]) + w["embedding.positions"]
    for block in (f"block {i}" for i in range(BLOCKS)):
        qkv = dense(f"{block}.qkv", norm(f"{block}.norm1", x))
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in qkv.chunk(3, -1))
        merged = scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + dense(f"{block}.projection", merged)
        x = x + dense(f"{block}.down", gelu(dense(f"{block}.up", norm(f"{block}.norm2", x)), approximate="tanh"))
    head = w.get("head.weight", w["embedding.tokens"])
    return cross_entropy(linear(norm("norm", x), head, w["head.bias"].flatten()).flatten(0, 1), targets.flatten())


def opened(folder, step):
    """The manifest, and all tensors."""
    path = folder / f"step-{step:08}.checkpoint"
    manifest = json.loads((path / "manifest.json").read_text())["checkpoint"]
    tensors = {}
    for part in manifest["parts"]:
        tensors |= load_file(path / part["file"])
    return manifest, tensors


def differences(before, after):
    """Largest ones of the loss, of gradients, and of the next weights."""
    (manifest, old), (told, new) = before, after
    names = [name for name in old if not name.endswith("_moment")]
    weights = {name: old[name].clone().requires_grad_() for name in names}
    loss = loss_of(weights, *tokens_of_batch(manifest["batches"]))
    loss.backward()
    # The manifest has running means: that of n losses moves by an n-th of the next loss's error.
    was, now = manifest["losses"], told["losses"]
    off_loss = abs(loss.item() - (was["mean"] + (now["mean"] - was["mean"]) * now["counted"]))
    norm = sum(w.grad.square().sum() for w in weights.values()).sqrt().item()
    scale = min(1, CLIP / norm)
    updates = told["updates"]
    rate = RATE * updates / 20 * (1 - 0.9 * (updates - 1) / STEPS)
    off_gradient = off_weight = 0
    for name, w in weights.items():
        gradient = scale * w.grad
        first, second = (new[f"{name}.{which}_moment"] for which in ("first", "second"))
        added = (first - BETA1 * old[f"{name}.first_moment"]) / (1 - BETA1)
        off_gradient = max(off_gradient, (gradient - added).abs().max().item())
        moments = BETA1 * old[f"{name}.first_moment"] + (1 - BETA1) * gradient, \
            BETA2 * old[f"{name}.second_moment"] + (1 - BETA2) * gradient.square()
        off_weight = max(off_weight, (moments[1] - second).abs().max().item())
        step = rate * moments[0] / (1 - BETA1**updates) / ((moments[1] / (1 - BETA2**updates)).sqrt() + EPSILON)
        off_weight = max(off_weight, (old[name] - step - new[name]).abs().max().item())
    return off_loss, off_gradient, off_weight, norm


def main():
    worst = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text.txt").write_bytes(TEXT)
        for shape in ("--schedule v-half -p 2", "--schedule 1f1b -p 3 --tie-embeddings"):
            saved = folder / shape
            subprocess.run([sys.argv[1], "train", *shape.split(), "--precision", "double", "--blocks", str(BLOCKS), "--width",
                            str(WIDTH), "--heads", str(HEADS), "--context", str(CONTEXT), "--sequences", str(SEQUENCES), "-m",
                            str(MICRO_BATCHES), "--steps", str(STEPS), "--learning-rate", str(RATE), "--seed", str(SEED),
                            "--corpus", folder / "text.txt", "--save", saved, "--save-every", "1"],
                           check=True, stdout=subprocess.DEVNULL)
            off_loss, off_gradient, off_weight, norm = differences(opened(saved, STEPS - 1), opened(saved, STEPS))
            print(f"{shape}: off by {off_loss:.1e} (loss), {off_gradient:.1e} (gradients, whose norm is {norm:.2f}), "
                  f"{off_weight:.1e} (next weights)")
            worst = max(worst, off_loss, off_gradient, off_weight)
    return worst > TOLERANCE


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
