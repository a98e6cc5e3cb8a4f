"""What bash runs, and what it starts."""

from pathlib import Path

from launch_reading import GPT, LLAMA, of_script, read

RECORDED = {
    "set -e\nsource /no/such/place/env.sh\n. ~/none/activate\ncd /no/such/folder\ntorchrun a.py x": ["a.py x"],
    "cd /no/such/folder && torchrun a.py y": ["a.py y"],
    "set -e\npushd /no/such/folder\npopd\npushd .\ntorchrun a.py z": ["a.py z"],
    "set -e\nD=`cat /no/such/file`\ncat run.sh > o\nE=$(cat run.sh | wc -l)\ntorchrun a.py $D $E": ["a.py 5"],
    "echo N=4 > own.sh\nsource ./own.sh\ntorchrun a.py $N": ["a.py 4"],
    "uv run submit.py -- source a.sh \\&\\& uv run a.py --b 1": ["a.py --b 1"],
    "python submit.py --gpus 8 -- accelerate launch --num_processes 8 a.py --b 1": ["a.py --b 1"],
    "gantry run --task-name a.sh --gpus 8 -- /bin/bash -c \"cd a; torchrun --nnodes 2 a.py x\"": ["a.py x"],
    'A="<some dir>"\ntorchrun a.py --save $A/b': ["a.py --save <some_dir>/b"],
    "composer -n 8 a.py a.yaml b=c": ["a.py a.yaml b=c"],
    "N=$(ds_ssh nvidia-smi --query-gpu=name | wc -l)\ntorchrun a.py $((N - 2))": ["a.py 8"],
}

REFUSED = {
    "S=$2\nexit 1": "line 1 takes S from argument 2",
}


def check(folder):
    """The answer names what a script takes from a file that is not there, and where one would be."""
    run, said = of_script(folder, f"set -e\nDATA=`cat /no/such/file`\ntorchrun pretrain_gpt.py {GPT} --data-path $DATA")
    assert run is not None and run["unknown"] == ["the output of `cat /no/such/file`"], said
    run, said = of_script(folder, "set -e\ncat /no/such/file\ntorchrun pretrain_gpt.py")
    assert run is None and "No such file" in said, said
    Path(folder, "a").mkdir()
    Path(folder, "a", "ds.json").write_text("{}")
    Path(folder, "a", "own.sh").write_text(f"torchrun own.py {LLAMA} --deepspeed ds.json\n")
    run, said = read("launch", folder, ["--", "bash", "a/own.sh"])
    assert run is None and "/a on it is there" in said, said
