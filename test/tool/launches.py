#!/usr/bin/env python3
"""`python -m ashlar_pp.read launch` reads scripts as bash runs them, runs nothing that they start, and `ashlar predict --run` takes
what it writes.

usage: launches.py ASHLAR ROOT

It needs no package. Each script stands with the words of the command that it starts, or with a part of the error. The runs that the
documentation predicts are written and read back: the step is the same to the last digit.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ASHLAR = sys.argv[1]
ROOT = Path(sys.argv[2]).resolve()
PACKAGE = ROOT / "python" / "ashlar_pp"  # whose extension is not built here
sys.path.insert(0, str(PACKAGE))

from read.flags import megatron_flags, read_megatron  # noqa: E402
from read.scripts.launchers import trainings_of  # noqa: E402
from read.scripts.recording import record  # noqa: E402

RECORDED = {
    "if [ 8 = 8 ]; then P='--tp 2'; else P='--tp 8'; fi\ntorchrun a.py $P": ["a.py --tp 2"],
    "torchrun a.py --gbs $((2 * 8 * 4)) --s ${1:-8}": ["a.py --gbs 64 --s 8"],
    'A=("--fp8-format hybrid" "--vocab-size 9")\ntorchrun a.py ${A[@]}': ["a.py --fp8-format hybrid --vocab-size 9"],
    'f() { local n=$1; torchrun a.py --n $n; }\nf 3': ["a.py --n 3"],
    "export PATH=/usr/bin:/bin\ntorchrun a.py x": ["a.py x"],
    "/opt/conda/bin/torchrun --nproc-per-node 8 --nnodes=2 a.py x": ["a.py x"],
    'T=/opt/x/bin\n$T/python3 -m torch.distributed.run --standalone -m pkg.train y': ["pkg.train y"],
    "exec torchrun a.py last": ["a.py last"],
    "nohup torchrun a.py back > /dev/null &\nwait": ["a.py back"],
    "srun -N 2 --ntasks-per-node=8 bash -c 'python -u a.py --rank $SLURM_PROCID'": ["a.py --rank 0"],
    "srun -l --container-image x singularity exec --nv y.sif torchrun a.py z": ["a.py z"],
    "mpirun -np 16 -x A=1 python a.py m": ["a.py m"],
    "sbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=4\nsrun python a.py --nodes \\$SLURM_NNODES\nEOF": ["a.py --nodes 4"],
    "deepspeed --num_gpus=8 --include h:0,1 a.py --deepspeed_config d.json": ["a.py --deepspeed_config d.json"],
    "accelerate launch --config_file c.yaml --multi_gpu a.py --b 1": ["a.py --b 1"],
    "ray start --head\nray job submit --address h -- python3 a.py --c 2": ["a.py --c 2"],
    "N=$(nvidia-smi -L | wc -l)\ntorchrun a.py $N": ["a.py 8"],
    "H=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\ntorchrun a.py $H": ["a.py node0"],
    "X=$(python3 -c 'print(3*4)')\npython3 a.py $X": ["a.py 12"],
    "set -eux\ntorchrun a.py 1 2>&1 | tee log.txt": ["a.py 1"],
    "for i in 1 2 1; do torchrun a.py $i; done": ["a.py 1", "a.py 2"],
    "while true; do torchrun a.py on; sleep 5; done": ["a.py on"],
    "env A=1 timeout 5 torchrun a.py e": ["a.py e"],
    "uv run a.py u": ["a.py u"],
    "cat <<EOF > args.txt\n--x 5\nEOF\ntorchrun a.py $(cat args.txt)": ["a.py --x 5"],
}
NOT_RUN = ["touch hit", "rm -rf keep", "/usr/bin/touch hit", "pkill -9 nothing", "sed -i s/a/b/ keep/file", "find keep -delete", "curl x"]
MODEL = (
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 "
    "--swiglu --untie-embeddings-and-output-weights --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--vocab-size 128256 --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 512 --bf16 "
    "--use-distributed-optimizer --sequence-parallel"
)


def recorded(folder, script, seconds=30):
    path = Path(folder, "run.sh")
    path.write_text(script + "\n")
    here = os.getcwd()
    os.chdir(folder)
    try:
        made = record(["bash", "run.sh"], seconds=seconds)
    finally:
        os.chdir(here)
    return made


def check_recordings(folder):
    for script, expected in RECORDED.items():
        made = recorded(folder, script, seconds=4 if "while true" in script else 30)
        found = [" ".join([one.program, *one.arguments]) for one in trainings_of(made.commands)]
        assert found == expected, (script, found, made.output)


def check_nothing_runs(folder):
    keep = Path(folder, "keep", "file")
    keep.parent.mkdir()
    keep.write_text("a")
    made = recorded(folder, "\n".join(NOT_RUN) + "\ntorchrun a.py\n/bin/echo said\nexit 3")
    assert keep.read_text() == "a" and not Path(folder, "hit").exists()
    assert made.status == 3 and len(made.commands) == 1, made
    skipped = {one.words[0].rpartition("/")[2] for one in made.skipped}
    assert {"touch", "rm", "pkill", "sed", "find", "curl"} <= skipped, skipped
    made = recorded(folder, "X=$(some_tool --count)\ntorchrun a.py $X")
    assert [one.is_captured for one in made.skipped] == [True]
    slow = recorded(folder, "while :; do :; done", seconds=1)
    assert slow.timed_out and not slow.commands
    assert recorded(folder, "yes | head -c 1000000000 > big\ntorchrun a.py").status in (0, 1, 153)


def check_flags():
    assert len(megatron_flags()) > 700
    read = read_megatron("--num-layers 2 --swiglu --num-layers=4 --recompute-modules mlp moe --own 1 2 --save".split())
    assert read.values == {"num-layers": "4", "swiglu": True, "recompute-modules": "mlp moe", "own": "1 2", "save": ""}, read
    assert read.unknown == ["own"] and read.lacking == ["save"] and not read.loose


def read_run(folder, script, *options):
    """What the command line writes: the run or nothing, and what it says."""
    path, made = Path(folder, "launch.sh"), Path(folder, "run.json")
    path.write_text(script + "\n")
    made.unlink(missing_ok=True)
    line = [sys.executable, "-m", "read", "launch", "-o", str(made), *options, "--", "bash", str(path)]
    ran = subprocess.run(line, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert (ran.returncode == 0) == (made.exists() or "--only-print" in options), ran.stderr
    return (made if made.exists() else None), ran.stderr


def predicted(*arguments):
    ran = subprocess.run([ASHLAR, "predict", "--as", "json", *map(str, arguments)], capture_output=True, text=True)
    return json.loads(ran.stdout) if ran.returncode == 0 else ran.stderr


def check_predictions(folder):
    """Evaluated scripts are predicted as the plain one that they come to."""
    plain = Path(folder, "plain.sh")
    plain.write_text(f"torchrun pretrain_gpt.py {MODEL} --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4\n")
    expected = predicted("--megatron", plain, "--cluster", "8x8xH100")
    branch = f"""if [ ${{SIZE:-8}} = 8 ]; then P="--tensor-model-parallel-size $((1 + 1)) --pipeline-model-parallel-size 4"; fi
torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py {MODEL} $P"""
    run, _ = read_run(folder, branch, "--device", "H100")
    found = predicted("--run", run)
    assert found["step_seconds"] == expected["step_seconds"] and found["options"] == expected["options"], found
    run, said = read_run(folder, "exit 1")
    assert run is None and "ended with status 1" in said and "TP=2" in said, said
    run, said = read_run(folder, f"torchrun pretrain_gpt.py\n{MODEL}")
    assert run is None and "cuts the command" in said, said
    run, said = read_run(folder, "torchrun a.py --micro-batch-size 1 --num-layers 2\ntorchrun a.py --micro-batch-size 2 --num-layers 2")
    assert run is None and "--choose" in said, said
    run, _ = read_run(folder, f"torchrun pretrain_vlm.py {MODEL}")
    assert "trains no decoder alone" in predicted("--run", run, "--cluster", "8xH100")
    run, _ = read_run(folder, f"torchrun train.py {MODEL} --language-model-type mistral_7b --img-h 336 --img-w 336 --patch-dim 14 "
                              "--decoder-seq-length 8192 --disable-vision-class-token --freeze-ViT")
    seeing = predicted("--run", run, "--cluster", "8x8xH100")
    tower = 24 * (4 * 1024**2 + 2 * 1024 * 4096 + 9 * 1024 + 4096) + 588 * 1024 + 577 * 1024 + 3 * 1024
    assert seeing["parameters"] == expected["parameters"] + tower + 1024 * 14336 + 14336 * 4096, seeing
    assert seeing["trained_parameters"] == seeing["parameters"] - tower and "--freeze vision_tower" in seeing["options"], seeing
    encoder = f"torchrun pretrain_bert.py {MODEL} --bert-no-binary-head"
    run, _ = read_run(folder, encoder)
    plain.write_text(encoder + "\n")
    ways = [predicted(*way, "--cluster", "8x8xH100") for way in (("--run", run), ("--megatron", plain))]
    decoder = predicted("--run", read_run(folder, encoder.replace("_bert", "_gpt"))[0], "--cluster", "8x8xH100")
    assert ways[0]["step_seconds"] == ways[1]["step_seconds"] and ways[0]["parameters"] > decoder["parameters"], ways
    assert ways[0]["terms"]["attention"] == 2 * decoder["terms"]["attention"], (ways[0]["terms"], decoder["terms"])
    run, said = read_run(folder, "touch hit", "--only-print")
    assert run is None and not Path(folder, "hit").exists() and "not run: everything else" in said


# Predictions beside those of the documentation: other models, and options that these do not have.
OTHER = [
    "--model deepseek-v3 --cluster 64x8xH800 --sequence 4096 --batch 1024 --pipeline 16 --expert 16 --schedule dualpipev --dispatch-fp8 --delay-weights",
    "--model gpt-oss-120b --cluster 8x8xH200 --sequence 8192 --batch 64 --tensor 2 --expert 8 --sharding full --shard-ranks 16",
    "--model gemma2-9b --cluster 8xA100-80 --sequence 4096 --batch 16 --sharding full --recompute full:3 --freeze head,layers=0-4,layers=9",
    "--model qwen3-235b-a22b --cluster 16x8xB200 --sequence 4096 --batch 512 --expert 8 --sharding optimizer --precision mxfp8 --sequence-parallel off",
    "--model llama3-8b --cluster own.json --sequence 8192 --batch 32 --tensor 2 --offload-optimizer --sharding optimizer --attention flash_attention_2",
    "--model llama3-70b --cluster 8x8xH100 --sequence 8192 --batch 64 --tensor 8 --pipeline 4 --layout Et*19|t*21|t*21|t*19L --ends-as-layers",
    "--model gpt2 --cluster 1x8xV100 --sequence 1024 --batch 64 --precision fp16 --stack megatron-2021",
]
OWN = {"name": "mine", "nodes": 2, "devices_per_node": 4, "generation": "hopper", "peak_flops": {"fp32": 6e13, "bf16": 9e14, "fp8": 1.8e15},
       "memory_bytes": 9e10, "memory_bandwidth": 3.1e12, "link_inside": 4.1e11, "link_outside": 4e10, "domain": 4, "units": 120,
       "exponentials": 3e12, "power_watts": 650, "host_link": 5e10, "host_memory_bytes": 2e11, "host_memory_bandwidth": 3e10}


def check_trainer(folder):
    """DeepSpeed's "auto" is what the Trainer fills in; another model's files and adapters are refused."""
    zero = {"stage": 3, "reduce_bucket_size": "auto"}
    Path(folder, "zero.json").write_text(json.dumps({
        "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"},
        "zero_optimization": zero}))
    words = ("deepspeed --num_gpus=8 sft.py --model_name_or_path org/none --max_seq_length 4096 --per_device_train_batch_size 2 "
             "--gradient_accumulation_steps 4 --bf16 True --gradient_checkpointing True --deepspeed zero.json")
    run, said = read_run(folder, words, "--device", "H100")
    assert "org/none" in said and "give --model" in said, said
    assert "--model is required" in predicted("--run", run)
    options = predicted("--run", run, "--model", "llama3-8b")["options"]
    for part in ("--sequence 4096 --batch 64 --micro-batch 2", "--data 8 --sharding full", "--recompute full"):
        assert part in options, options
    run, said = read_run(folder, words + " --use_peft True")
    assert run is None and "adapters train" in said, said
    run, said = read_run(folder, words + " --finetuning_type lora --lora_rank 16 --lora_target q_proj,v_proj")
    found = predicted("--run", run, "--model", "llama3-8b", "--cluster", "8xH100")
    assert "--lora 16,q_proj,v_proj" in found["options"], found
    run, said = read_run(folder, words + " --finetuning_type lora --lora_target .*proj")
    assert run is None and "a pattern says where adapters are" in said, said
    run, said = read_run(folder, words + " --finetuning_type lora --quantization_bit 4")
    found = predicted("--run", run, "--model", "llama3-8b", "--cluster", "8xH100")
    assert "--frozen-weights 4-bit,double" in found["options"], found
    alone = words.replace("deepspeed --num_gpus=8", "torchrun --nproc-per-node 8").replace(" --deepspeed zero.json", "")
    for more, size in (("", 25), (" --ddp_bucket_cap_mb 100", 100)):
        run, said = read_run(folder, alone + more)
        found = predicted("--run", run, "--model", "llama3-8b", "--cluster", "8xH100")["options"]
        assert f"--fact data-overlap=on,bucket={size * 2**18}" in found, found
    run, said = read_run(folder, words.replace(" zero.json", ""))
    assert run is None and "names no file" in said, said
    run, said = read_run(folder, words + " --optim lomo")
    assert run is None and "optim lomo" in said, said
    run, said = read_run(folder, "python -m verl.trainer.main_ppo data.max_prompt_length=1024 data.max_response_length=1024 "
                         "actor_rollout_ref.model.path=org/none actor_rollout_ref.actor.ppo_mini_batch_size=32 actor_rollout_ref.rollout.n=4 "
                         "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 actor_rollout_ref.actor.fsdp_config.fsdp_size=8")
    found = predicted("--run", run, "--model", "llama3-8b", "--cluster", "2x8xH100") if run else said
    if "yaml" not in said:  # its values are YAML
        assert "--sequence 2048 --batch 128 --micro-batch 2" in found["options"] and "--shard-ranks 8" in found["options"], found


def documented():
    """Folders of files, and predictions in them, of each page."""
    for line in OTHER:
        yield "other", {"own.json": json.dumps(OWN)}, line.split()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text()
        files = dict(re.findall(r"^<!-- file: (\S+) -->\n+```\w*\n(.*?)^```$", text, re.M | re.S))
        lines = re.findall(r"^\$ ashlar (predict .*)$", text, re.M)
        for line in dict.fromkeys(line.partition(" | ")[0] for line in lines):
            words = [word for word in shlex.split(line)[1:] if word != "--explain"]
            if not {"--calibrate", "--best", "--as", "--costs", "--run"} & set(words):
                yield page.name, files, words


def check_round_trips(folder):
    count = 0
    for page, files, words in documented():
        here = Path(folder, page)
        here.mkdir(exist_ok=True)
        for name, text in files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text(text)
        ran = [subprocess.run([ASHLAR, "predict", *words, "--as", form], cwd=here, capture_output=True, text=True) for form in ("json", "run")]
        if ran[0].returncode != 0:
            assert page != "other", ran[0].stderr
            continue  # it needs what a command before it has written
        (here / "run.json").write_text(ran[1].stdout)
        back = subprocess.run([ASHLAR, "predict", "--run", "run.json", "--as", "json"], cwd=here, capture_output=True, text=True)
        assert back.returncode == 0, (words, back.stderr)
        before, after = json.loads(ran[0].stdout), json.loads(back.stdout)
        for key in ("step_seconds", "peak_bytes", "parameters", "active_parameters", "interval", "fit"):
            assert before.get(key) == after.get(key), (words, key, before.get(key), after.get(key))
        again = subprocess.run([ASHLAR, "predict", "--run", "run.json", "--as", "run"], cwd=here, capture_output=True, text=True)
        assert again.stdout == ran[1].stdout, words
        count += 1
    assert count >= len(OTHER) + 8, count
    return count


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_recordings(folder)
        check_nothing_runs(folder)
        check_flags()
        check_predictions(folder)
        check_trainer(folder)
        count = check_round_trips(folder)
    print(f"{len(RECORDED)} scripts, {count} runs")


if __name__ == "__main__":
    main()
