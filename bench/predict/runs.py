"""Reads a table of measured runs, and writes rows as files that `ashlar predict` reads.

The table is a CSV with a row a run: id, source, group (rows of the same configuration), model, accelerator, gpus, gpus_per_node, the sizes
of the run, sequence_parallel (yes, no or nothing), sharding, recompute and recompute_modules, precision, layout, schedule, attention (flash, unfused, or
nothing), note (NOTED says what is read of it), status (ok, or how it failed), step_s, peak_bytes, quality (A to C), use (step, memory, fit) and duplicate_of. Models are in a JSON
file by name, with the keys of a config.json, and `family`: models of a family are left out together.
"""
import csv
import json
import re
import subprocess
from pathlib import Path

SIZES = ["gpus", "gpus_per_node", "sequence", "global_batch", "micro_batch", "tensor", "pipeline", "chunks", "context", "expert",
         "expert_tensor", "data"]
COLUMNS = {"sequence": "sequence", "global_batch": "batch", "micro_batch": "micro-batch", "tensor": "tensor", "pipeline": "pipeline",
           "chunks": "chunks", "context": "context", "expert": "expert", "expert_tensor": "expert-tensor", "data": "data"}
SPLIT = {"yes": "on", "no": "off"}
ATTENTION = {"flash": "fused", "unfused": "unfused"}
# Facts about the program that the notes of a recipe give. A recipe that says nothing of graphs has none.
NOTED = {"CUDA graphs": "graphs=layers", "expert all-to-all overlapped": "expert-overlap=on"}
# torch.compile, in the tables of torchtitan's paper: of the model alone.
COMPILED = "fused-activation=on,fused-rotation=on"

# Programs that sources name, other than by sharding.
PROGRAMS = dict.fromkeys(("dgxc", "mlperf", "megatron_bridge", "bridge_cards"), "megatron-bridge")
SHARDED_PROGRAMS = {"torchtitan": "torchtitan"}


def stack(row):
    """The program that the row or its source names."""
    programs = SHARDED_PROGRAMS if row["sharding"] == "full" else PROGRAMS
    return row.get("stack") or programs.get(row["source"], "")


def facts(row):
    """Facts of the program that the row tells."""
    note = row.get("note") or ""
    if row.get("fact"):
        return row["fact"]
    if row["source"] in SHARDED_PROGRAMS:
        return COMPILED if "compiled" in note else "context-balance=off" if "table 2" in note else ""
    if "recipe v" not in note:
        return ""
    said = [fact for words, fact in NOTED.items() if words in note]
    return ",".join(said if "CUDA graphs" in note else [*said, "graphs=none"])


def recompute(row):
    """The argument of --recompute: parts of layers where the row names them, as Megatron does."""
    if row["recompute"] != "selective":
        return row["recompute"] or "none"
    modules = (row["recompute_modules"] or "").split()
    return "op" if modules == ["per", "operation"] else ",".join(modules) or "none"


def offload(row):
    """The argument of --offload-activations: the layers that the row's note tells."""
    told = re.search(r"activations of (\d+) layers offloaded to the host", row.get("note") or "")
    return f"full:{told[1]}" if told else "none"


def read(path, models_path, quality="AB"):
    """Rows that may be used, each with its family."""
    models = json.loads(Path(models_path).read_text())
    rows = []
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["quality"] not in quality or row["model"] not in models or row["duplicate_of"]:
                continue
            for size in SIZES:
                row[size] = int(row[size]) if row[size] else None
            for number in ("step_s", "peak_bytes"):
                row[number] = float(row[number]) if row[number] else None
            row["use"] = (row["use"] or "").split()
            row["family"] = models[row["model"]]["family"]
            rows.append(row)
    return rows, models


def has_step(row):
    return row["status"] == "ok" and "step" in row["use"] and row["step_s"]


def write(rows, models, folder):
    """Writes the rows as a file of runs, with models as files beside it, and returns its path."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    for name in {row["model"] for row in rows}:
        keys = {key: value for key, value in models[name].items() if key not in ("note", "family")}
        (folder / f"{name}.json").write_text(json.dumps(keys))
    path = folder / "runs.csv"
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["model", "cluster", *COLUMNS.values(), "sharding", "recompute", "offload-activations", "attention", "layout", "precision", "stack", "fact", "sequence-parallel", "step_seconds"])
        for row in rows:
            per = row["gpus_per_node"] or 8
            # Steps are predicted from sizes alone.
            attention = ATTENTION.get(row["attention"], "auto") if "step" not in row["use"] else "auto"
            out.writerow([folder / f"{row['model']}.json", f"{row['gpus'] // per}x{per}x{row['accelerator']}",
                          *(row[column] or "" for column in COLUMNS), row["sharding"] or "none", recompute(row), offload(row), attention, row["layout"],
                          row["precision"], stack(row), facts(row), SPLIT.get(row["sequence_parallel"], ""), row["step_s"] or ""])
    return path


def answers(program, path, constants):
    ran = subprocess.run([program, path, constants, "answers"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


class Evaluator:
    """Predicts seconds of all rows of a file of runs, for constants by name."""

    def __init__(self, program, path, constants):
        self.process = subprocess.Popen([program, path, constants, "seconds"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, values):
        self.process.stdin.write(" ".join(repr(float(value)) for value in values.values()) + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
