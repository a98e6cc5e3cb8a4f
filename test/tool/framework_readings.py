#!/usr/bin/env python3
"""`ashlar predict` reads random files of frameworks as their own code does, and stops where they stop.

usage: framework_readings.py ASHLAR [CASES]

With megatron-core: layouts, and layers of each virtual stage. With torchtitan: layers of each stage. Skipped (77) if neither is installed.
"""
import json
import random
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ASHLAR = sys.argv[1]
CASES = int(sys.argv[2]) if len(sys.argv) > 2 else 100


def predicted(arguments):
    """The options of the run, or nothing."""
    ran = subprocess.run([ASHLAR, "predict", "--as", "json", *arguments], capture_output=True, text=True)
    return json.loads(ran.stdout)["options"] if ran.returncode == 0 else None


def layers_in(options):
    return [int(count) for count in options.split("--layout '")[1].split("'")[0].split(",")]


def random_layout(dice):
    """A valid one, in half of the cases with a letter lost, added or moved."""
    predictions, pipeline = dice.choice([0, 0, 1, 2]), dice.choice([2, 4])
    letters = list("E" + "t" * 4 + "m" * predictions + "L")
    for _ in range(dice.choice([pipeline - 1, 2 * pipeline - 1, dice.randint(1, 5)])):
        letters.insert(dice.randint(0, len(letters)), "|")
    at, change = dice.randrange(len(letters)), dice.random()
    if change < 0.2:
        letters.pop(at)
    elif change < 0.35:
        letters.insert(at, dice.choice("EtmL"))
    elif change < 0.5:
        other = dice.randrange(len(letters))
        letters[at], letters[other] = letters[other], letters[at]
    return "".join(letters), pipeline, predictions


def compare_layouts(dice, folder):
    from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout

    for _ in range(CASES):
        layout, pipeline, predictions = random_layout(dice)
        try:
            PipelineParallelLayerLayout(layout, pipeline).validate_layer_layout(4, predictions or None)
            is_valid = True
        except AssertionError:
            is_valid = False
        model = Path(folder) / "model.json"
        model.write_text(json.dumps({"model_type": "deepseek_v3", "num_hidden_layers": 4, "num_nextn_predict_layers": predictions}))
        chunks = max(1, (layout.count("|") + 1) // pipeline)
        options = predicted(["--model", model, "--cluster", "4x8xH100", "--sequence", "1024", "--batch", "64", "--pipeline", str(pipeline), "--chunks",
                             str(chunks), "--layout", layout])
        assert (options is not None) == is_valid, (layout, pipeline, predictions, is_valid)


def megatron_stages(layers, pipeline, first, last, counts_embedding, counts_loss, each, virtual):
    """As validate_args of Megatron-LM and megatron-core have them; nothing where they stop."""
    from megatron.core.transformer.transformer_block import get_num_layers_to_build

    counted, has_ends = layers + counts_embedding + counts_loss, first is not None or last is not None
    try:
        if each:
            assert not has_ends and counted % pipeline == 0 and counted // pipeline % each == 0
            virtual = counted // pipeline // each
        assert virtual or has_ends or counted % pipeline == 0
        chunks = virtual if virtual and virtual > 1 else None
        config = types.SimpleNamespace(pipeline_model_parallel_layout=None, num_layers=layers, pipeline_model_parallel_size=pipeline,
                                       num_layers_in_first_pipeline_stage=first, num_layers_in_last_pipeline_stage=last,
                                       account_for_embedding_in_pipeline_split=counts_embedding, account_for_loss_in_pipeline_split=counts_loss,
                                       virtual_pipeline_model_parallel_size=chunks)
        made = [get_num_layers_to_build(config, vp_stage=chunk if chunks else None, pp_rank=rank) for chunk in range(chunks or 1) for rank in range(pipeline)]
    except AssertionError:
        return None
    return made if sum(made) == layers else None


def compare_stages(dice, folder):
    script = Path(folder) / "run.sh"
    for _ in range(CASES):
        layers, pipeline = dice.choice([8, 14, 15, 16, 30, 31, 32]), dice.choice([2, 4])
        first, last = dice.choice([None, None, None, 1, 2, 6, 7]), dice.choice([None, None, None, 1, 3, 6])
        counts = dice.random() < 0.3, dice.random() < 0.3
        each, virtual = dice.choice([(None, None), (dice.choice([1, 2, 4]), None), (None, dice.choice([1, 2, 3]))])
        given = {"num-layers": layers, "pipeline-model-parallel-size": pipeline, "decoder-first-pipeline-num-layers": first,
                 "decoder-last-pipeline-num-layers": last, "num-layers-per-virtual-pipeline-stage": each, "num-virtual-stages-per-pipeline-rank": virtual}
        text = " ".join(f"--{name} {value}" for name, value in given.items() if value is not None)
        text += "".join(f" --account-for-{what}-in-pipeline-split" for what, is_counted in zip(("embedding", "loss"), counts) if is_counted)
        script.write_text("torchrun pretrain_gpt.py --hidden-size 256 --num-attention-heads 4 --seq-length 1024 --global-batch-size 96 --bf16 "
                          f"--vocab-size 1000 {text}")
        options = predicted(["--cluster", "8xH100", "--stack", "megatron-core", "--megatron", script])
        stages = pipeline * (int(options.split("--chunks ")[1].split()[0]) if options and "--chunks" in options else 1)
        made = options and (layers_in(options) if "--layout" in options else [layers // stages] * stages)
        expected = megatron_stages(layers, pipeline, first, last, *counts, each, virtual)
        assert made == expected, (text, made, expected)


def compare_torchtitan(dice, folder):
    from torchtitan.distributed import pipeline_parallel

    job = Path(folder) / "job.toml"
    for _ in range(CASES):
        pipeline, before, behind = dice.choice([2, 4, 8]), dice.choice([1, 1, 0, 2, 5]), dice.choice([1, 1, 0, 2, 3])
        schedule, each = dice.choice(["1F1B", "GPipe", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble"]), dice.choice([None, None, 2, 3, 4, 6])
        fields = dict(pipeline_parallel_schedule=schedule, pipeline_parallel_layers_per_stage=each, pipeline_parallel_first_stage_less_layers=before,
                      pipeline_parallel_last_stage_less_layers=behind)
        try:
            sizes = pipeline_parallel._get_pipeline_metadata(types.SimpleNamespace(pp=pipeline), types.SimpleNamespace(**fields),
                                                             types.SimpleNamespace(layers=[None] * 32))
            parts = pipeline_parallel._generate_llm_fqn_per_model_part(*sizes)
            expected = [sum(name.startswith("layers.") for name in part) for part in parts]
        except ValueError:
            expected = None
        lines = [f"{name} = {json.dumps(value)}" for name, value in {**fields, "pipeline_parallel_degree": pipeline}.items() if value is not None]
        job.write_text('[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 1024\nlocal_batch_size = 64\n[parallelism]\n' + "\n".join(lines))
        options = predicted(["--cluster", "8xH200", "--torchtitan", job])
        made = options and layers_in(options)
        assert made == expected, (lines, made, expected)


def main():
    checked = 0
    for package, compare in (("megatron.core", compare_layouts), ("megatron.core", compare_stages), ("torchtitan", compare_torchtitan)):
        try:
            __import__(package)
        except ImportError as error:
            print(f"without {package}: {error}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            compare(random.Random(7), folder)
        checked += 1
    sys.exit(0 if checked else 77)


if __name__ == "__main__":
    main()
