#!/usr/bin/env python3
"""Compares large published runs with the prediction of `ashlar predict` for their layout, and with the plans of `ashlar plan`.

usage: published.py ASHLAR [--page PAGE.md]

A source gives seconds of a step, or the FLOP/s of a device, from which seconds follow by the operations that predict counts.
`open` names details that a source omits: the layout is one possible reading.
"""
import argparse
import json
import re
import shlex
import subprocess
from pathlib import Path

RUNS = [
    # Section 3.3.2: V virtual stages, a layer less on the first and the last stage, and sharded gradients.
    *(dict(name=f"Llama 3 405B, sequences of {tokens:,}", source="arXiv 2407.21783, table 4", tflops=tflops, open="V",
           run=f"--model llama3.1-405b --cluster 2048x8xH100 --sequence {tokens} --batch {2 ** 24 // tokens}",
           layouts={f"V = {chunks}": f"--tensor 8 {context} --pipeline 16 --chunks {chunks} --ends-as-layers --sharding gradients" for chunks in (2, 4, 8)})
      for tokens, tflops, context in ((8192, 400, ""), (131072, 380, "--context 16"))),
    dict(name="Nemotron-4 340B", source="arXiv 2406.11704, tables 1 and 2", seconds=8.0, open="chunks",
         run=f"--model {Path(__file__).parent / 'nemotron-4-340b.json'} --cluster 768x8xH100 --sequence 4096 --batch 2304",
         layouts={"two chunks": "--tensor 8 --pipeline 12 --chunks 2 --sharding optimizer", "a layer a stage": "--tensor 8 --pipeline 12 --chunks 8 --sharding optimizer"}),
    # 180,000 device hours for 10^12 tokens, 15,360 sequences a step.
    dict(name="DeepSeek-V3", source="arXiv 2412.19437, sections 3.2 and 4.2", seconds=180e3 / 2048 * 3600 / 1e12 * 15360 * 4096, open="division of 61 layers",
         run="--model deepseek-v3 --cluster 256x8xH800 --sequence 4096 --batch 15360", fix="precision=fp8,dispatch-fp8=true",
         layouts={name: "--pipeline 16 --expert 64 --sharding optimizer --precision fp8 --dispatch-fp8 --recompute layernorm,mla_up_proj,moe_act "
                        f"--layout 'Etttt|(tttt|)*14tmL' {schedule}" for name, schedule in (("1F1B", ""), ("DualPipe", "--schedule dualpipe"))}),
    dict(name="MegaScale 175B, its Megatron-LM", source="arXiv 2402.15627", seconds=8.57, open="chunks",
         run="--model gpt3-175b --cluster 1536x8xA100 --sequence 2048 --batch 6144",
         layouts={"as stated": "--tensor 8 --pipeline 8 --sharding optimizer", "two layers a stage": "--tensor 8 --pipeline 8 --chunks 6 --sharding optimizer"}),
    dict(name="Mixtral 8x22B", source="arXiv 2504.14960, its best", tflops=487.6, open="chunks",
         run="--model mixtral-8x22b --cluster 16x8xH100 --sequence 4096 --batch 256",
         layouts={name: f"--tensor 2 --pipeline 8 --expert 8 --chunks {chunks} --sharding optimizer" for name, chunks in (("a stage a device", 1), ("a layer a stage", 7))}),
    dict(name="Qwen3 235B", source="Megatron-Bridge, 25.11", seconds=2048 * 4096 / 256 / 1575, open="recomputation", fix="precision=fp8",
         run="--model qwen3-235b-a22b --cluster 32x8xH100 --sequence 4096 --batch 2048",
         layouts={"as stated": "--tensor 2 --pipeline 8 --chunks 4 --ends-as-layers --expert 32 --sharding optimizer --precision fp8"}),
    dict(name="GPT-OSS 120B", source="Megatron-Bridge, 26.04.01", seconds=1280 * 4096 / 64 / 5824, open="nothing",
         run="--model gpt-oss-120b --cluster 8x8xH100 --sequence 4096 --batch 1280",
         layouts={"as stated": "--pipeline 4 --expert 8 --sharding optimizer --recompute layernorm,moe_act"}),
]


def asked(ashlar, words):
    ran = subprocess.run([ashlar, *shlex.split(words), "--as", "json"], capture_output=True, text=True)
    if not ran.stdout:
        raise RuntimeError(f"{words}: {ran.stderr}")
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ashlar")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    rows = ["| run | its layout | step, s | predicted, s | GiB | the plan, s | the plan |", "|---|---|---:|---:|---:|---:|---|"]
    for run in RUNS:
        best = asked(options.ashlar, f"plan {run['run']} --top 1" + (f" --fix {run['fix']}" if "fix" in run else ""))["plans"][0]
        words = best["options"].split(" --layout")[0]
        for word in re.findall(r"--(?:sequence|batch|precision) \S+ ?", words):
            words = words.replace(word, "")
        for name, layout in run["layouts"].items():
            found = asked(options.ashlar, f"predict {run['run']} {layout}")
            seconds = run.get("seconds") or found["step_seconds"] * found["tflops_per_device"] / run["tflops"]
            fits = "" if found["fits"] else ": too much"
            rows.append(f"| {run['name']} ({run['source']}; open: {run['open']}) | {name} | {seconds:.2f} | {found['step_seconds']:.2f} | "
                        f"{found['peak_bytes'] / 2**30:.1f}{fits} | {best['seconds']:.2f} | `{words.strip()}`, {best['schedule']} |")
    table = "\n".join(rows)
    print(table)
    if options.page:
        mark = "<!-- published: by bench/plan/published.py -->\n"
        text = options.page.read_text()
        assert mark in text, f"{options.page} has no {mark}"
        options.page.write_text(re.sub(re.escape(mark) + r"(?:\|.*\n)*", lambda _: mark + table + "\n", text))


if __name__ == "__main__":
    main()
