#!/usr/bin/env python3
"""Our checkpoints in the safetensors package: every tensor is there, with the shape and the checksum of the manifest.

usage: safetensors_reader.py ASHLAR

Exit code 77, for CTest to skip it, where there is no such package.
"""
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

# cmake/setup-debian.sh has put it there, if this Python has none.
sys.path.append(str(Path(__file__).resolve().parents[2] / "build" / "python"))
try:
    from safetensors.numpy import load_file
except ImportError as missing:
    print(f"skipped: this Python has no package {missing.name}, which reads the checkpoints")
    sys.exit(77)

MODEL = "--blocks 2 --width 16 --heads 2 --context 16 --sequences 1".split()


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("a stone, a stone, and a joint between stones\n" * 100)
        for precision in ("float", "double"):
            saved = Path(folder) / precision
            subprocess.run([sys.argv[1], "train", "--schedule", "v-half", "-p", "2", "-m", "2", "--steps", "2", "--precision",
                            precision, "--save", saved, "--corpus", text, *MODEL], check=True, stdout=subprocess.DEVNULL)
            checkpoint = saved / "step-00000002.checkpoint"
            manifest = json.loads((checkpoint / "manifest.json").read_text())["checkpoint"]
            names = set()
            for part in manifest["parts"]:
                tensors = load_file(checkpoint / part["file"])
                if tensors.keys() != part["tensors"].keys():
                    failures.append(f"{part['file']}: {tensors.keys() ^ part['tensors'].keys()}")
                for name, told in part["tensors"].items():
                    found = tensors[name]
                    names.add(name)
                    if list(found.shape) != told["shape"] or zlib.crc32(found.tobytes()) != told["crc32"]:
                        failures.append(f"{part['file']}: {name} is not what the manifest says")
            if len(names) != 3 * (2 + 2 * 12 + 4) or "block 1.up.weight" not in names:
                failures.append(f"{precision}: other tensors: {sorted(names)}")
    print("\n".join(failures) or "ok")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
