"""torchtitan's debug model on a CPU has the same losses and gradients under our
schedules as without a pipeline.
"""

import json
import pathlib
import re
import subprocess
import sys

import pytest

import ashlar_pp
from ashlar_pp import Costs, catalog

torch = pytest.importorskip("torch")
pytest.importorskip("torchtitan")

STEPS = 4
ON_CPU = [
    "--training.seq_len=64",
    "--training.mixed_precision_param=float32",
    "--checkpoint.no-enable",
    "--validator.no-enable",
]
OPTIONS = [
    *(
        "--module",
        "llama3",
        "--config",
        "debug_on_cpu",
        "--comm.init_timeout_seconds=300",
        *ON_CPU,
    ),
    *(
        "--training.local_batch_size=4",
        f"--training.steps={STEPS}",
        "--training.disable_cuda_graphs",
    ),
]


def run(
    folder,
    ranks,
    schedule=None,
    *options,
    adapt_after=0,
    chunked_loss=False,
    names=None,
    frozen="",
    fails=False,
):
    folder.mkdir()
    work = {
        "schedule": schedule and ashlar_pp.emit(schedule, "json"),
        "adapt_after": adapt_after,
        "chunked_loss": chunked_loss,
        "names": names,
        "frozen": frozen,
        "fails": fails,
    }
    (folder / "work.json").write_text(json.dumps(work))
    script = pathlib.Path(__file__).with_name("torchtitan_rank.py")
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={ranks}",
        str(script),
    ]
    line = [
        *launch,
        "work.json",
        str(folder / "result"),
        *OPTIONS,
        f"--parallelism.pipeline_parallel_degree={ranks}",
        *options,
    ]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=900)
    return done, [
        torch.load(one, weights_only=True) for one in sorted(folder.glob("result.*"))
    ]


def whole(results):
    """Gradients of all ranks by name, and the losses of the ranks that have them."""
    gradients = {name: g for one in results for name, g in one["gradients"].items()}
    return gradients, [loss for one in results for loss in one["losses"]]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    done, results = run(
        tmp_path_factory.mktemp("alone") / "run", 1, None, "activation-checkpoint:none"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return whole(results)


def agrees(results, alone):
    gradients, losses = whole(results)
    expected, known = alone
    assert gradients.keys() == expected.keys()
    for name, g in gradients.items():
        assert g is not None, name
        assert (
            float((g - expected[name]).abs().max() / expected[name].abs().max()) < 1e-5
        ), name
    assert len(known) == STEPS
    for k, loss in enumerate(known):
        assert any(abs(loss - other) < 2e-4 for other in losses[k::STEPS]), (
            losses,
            known,
        )


def test_a_v_with_split_backwards(tmp_path, alone):
    none = "activation-checkpoint:none"
    done, results = run(
        tmp_path / "run",
        2,
        catalog.v_half(2, 4),
        "--parallelism.pipeline_parallel_microbatch_size=1",
        none,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the loss is on rank 0" in done.stderr + done.stdout
    agrees(results, alone)


def test_stages_behind_a_frozen_one_are_trained(tmp_path, alone):
    rest = [*(f"layers.{i}" for i in range(6)), "norm", "lm_head"]
    one = "--parallelism.pipeline_parallel_microbatch_size=1"
    done, results = run(
        tmp_path / "run",
        2,
        catalog.zb_h1(2, 4),
        one,
        "activation-checkpoint:none",
        names=[["tok_embeddings"], rest],
        frozen="tok_embeddings",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    gradients, losses = whole(results)
    expected, known = alone
    assert gradients.pop("tok_embeddings.weight") is None
    assert gradients.keys() == expected.keys() - {"tok_embeddings.weight"} and all(
        g is not None for g in gradients.values()
    )
    # Gradients agree up to one factor: the norm that clips them leaves out those of the
    # embeddings.
    sums = [
        float(sum((other[name] * expected[name]).sum() for name in gradients))
        for other in (gradients, expected)
    ]
    for name, g in gradients.items():
        most = expected[name].abs().max()
        assert (
            float((g * (sums[1] / sums[0]) - expected[name]).abs().max() / most) < 1e-5
        ), name
    assert any(abs(known[0] - loss) < 2e-4 for loss in losses[::STEPS])


def test_an_error_of_one_rank_ends_all_which_say_whose_it_is(tmp_path):
    one, none = (
        "--parallelism.pipeline_parallel_microbatch_size=1",
        "activation-checkpoint:none",
    )
    done, _ = run(tmp_path / "run", 2, catalog.one_f_one_b(2, 4), one, none, fails=True)
    assert done.returncode != 0
    told = (
        r"LostRank: rank 1 failed at the start of step\(\): KeyError: 'no norm' "
        r"\(torchtitan_rank.py:\d+ in fail\)"
    )
    assert re.search(told, done.stderr + done.stdout), done.stderr[-4000:]


def test_each_parameter_is_in_one_stage():
    from ashlar_pp.torchtitan import _layout_of

    def layout(*names, tied=False):
        model = torch.nn.ModuleDict(
            {"embed": torch.nn.Embedding(8, 4), "norm": torch.nn.LayerNorm(4)}
        )
        model["layers"] = torch.nn.ModuleDict(
            {str(i): torch.nn.Linear(4, 4) for i in (1, 10)}
        )
        model["head"] = torch.nn.Linear(4, 8, bias=False)
        if tied:
            model["head"].weight = model["embed"].weight
        return _layout_of(catalog.v_half(1, 4), [one.split() for one in names], model)

    found = layout("embed layers.1", "layers.10 norm head")
    assert (
        found["layers.10.bias"] == ((4,), [0])
        and found["embed.weight"] == ((8, 4), [0])
        and len(found) == 8
    )
    with pytest.raises(
        ValueError,
        match="norm.weight is in no stage of --parallelism.module_fqns_per_model_part",
    ):
        layout("embed layers.1", "layers.10 head")
    with pytest.raises(ValueError, match=r"layers.1.weight is in stages \[0, 1\] of"):
        layout("embed layers.1", "layers.1 layers.10 norm head")
    with pytest.raises(
        ValueError,
        match="embed.weight and head.weight are one parameter, in stages 0 and 1",
    ):
        layout("embed layers.1", "layers.10 norm head", tied=True)
    layout("embed layers.1 head", "layers.10 norm", tied=True)


def test_a_schedule_that_changes_while_training(tmp_path, alone):
    slow = catalog.gpipe(2, 4, Costs(1, 1, 1))
    done, results = run(
        tmp_path / "run", 2, slow, "activation-checkpoint:none", adapt_after=2
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "by these the step takes" in done.stderr + done.stdout
    agrees(results, alone)


@pytest.mark.parametrize("own", ["1F1B", "Interleaved1F1B", "ZBVZeroBubble"])
def test_torchtitans_own_flags_take_a_file_of_passes(tmp_path, alone, own):
    """Runs with the flags that `ashlar emit --as frameworks` names; torchtitan divides
    the debug model's layers.
    """
    made = {
        "1F1B": catalog.zb_h1,
        "Interleaved1F1B": catalog.depth_first,
        "ZBVZeroBubble": catalog.v_half,
    }[own](2, 4)
    file = tmp_path / "passes.csv"
    file.write_text(ashlar_pp.emit(made | ashlar_pp.fuse_backwards(), "pytorch"))
    flags = [
        f"--parallelism.pipeline_parallel_schedule={own}",
        f"--parallelism.pipeline_parallel_schedule_csv={file}",
    ]
    one = "--parallelism.pipeline_parallel_microbatch_size=1"
    done, results = run(
        tmp_path / "run", 2, None, one, *flags, "activation-checkpoint:none"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    agrees(results, alone)


def test_graph_pp_runs_every_action_of_our_files():
    """torchtitan's GraphPP registers its own functions for the actions of PyTorch's
    runtime.
    """
    runner = pytest.importorskip("torchtitan.experiments.graph_trainer.graph_pp.runner")
    from torch.distributed.pipelining import schedules

    class Runtime(schedules._PipelineScheduleRuntime):
        def __init__(self):
            self._stages, self._n_microbatches, self.taken = [], 4, set()

        def register_custom_function(self, computation_type, _):
            self.taken.add(computation_type)

    runtime = Runtime()
    runner.register_graph_pp_schedule(runtime)
    for made in (
        catalog.one_f_one_b(2, 4),
        catalog.zb_h1(2, 4),
        catalog.v_half(2, 4),
        catalog.dualpipev(2, 4),
    ):
        cells = []
        for sharding in ("optimizer", "gradients", "weights", "full"):
            program = ashlar_pp.lower(data_ranks=2, sharding=sharding)(made)
            if not program.pytorch_obstacle():
                cells += [
                    cell
                    for line in program.pytorch("waits").splitlines()
                    for cell in line.split(",")
                ]
        actions = {schedules._Action.from_str(cell).computation_type for cell in cells}
        transfers = {
            a
            for a in actions
            if "SEND" in a.name or "RECV" in a.name or "WAIT" in a.name
        }
        assert (
            {schedules.UNSHARD, schedules.REDUCE_GRAD}
            < actions - transfers
            <= runtime.taken
        )


def test_the_program_of_the_page(tmp_path):
    """Runs the program with the page's flags; it adapts after five steps. The tokenizer
    and the texts are not those of torchtitan's repository.
    """
    page = (
        pathlib.Path(__file__).resolve().parents[2] / "docs/torchtitan.md"
    ).read_text()
    (tmp_path / "train_v.py").write_text(
        re.search(r"```python\n(import dataclasses\n.*?)^```", page, re.M | re.S)[1]
    )
    flags = (
        re.search(r"train_v\.py \\\n(.*?)^```", page, re.M | re.S)[1]
        .replace("\\", " ")
        .split()
    )
    script = pathlib.Path(__file__).with_name("torchtitan_page.py")
    line = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(script),
        "train_v.py",
    ]
    done = subprocess.run(
        [*line, "--training.steps=6", *ON_CPU, *flags],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "by these the step takes" in done.stderr + done.stdout
    assert "step:  6" in done.stderr + done.stdout


def test_what_loses_gradients_is_refused(tmp_path):
    done, _ = run(
        tmp_path / "a",
        2,
        catalog.zb_h1(2, 4),
        "activation-checkpoint:none",
        chunked_loss=True,
    )
    assert done.returncode != 0 and "ChunkedLossWrapper walks the graph" in done.stderr
    done, _ = run(tmp_path / "b", 2, catalog.zb_h1(2, 8), "activation-checkpoint:none")
    assert (
        done.returncode != 0
        and "the schedule has 8 micro-batches: --training.local_batch_size"
        in done.stderr
    )
