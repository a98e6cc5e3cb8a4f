#!/usr/bin/env python3
"""Measures what bounds save `ashlar plan`: the same questions with every schedule executed, and with those alone that may still be shown.

usage: bounds.py ASHLAR

Processor seconds, the smaller of three runs in turns, and their ratio. Schedules that are named are all executed. Stops if the plans differ.
"""
import argparse
import json
import resource
import subprocess
import sys

QUESTIONS = (
    "--model 8B --sequence 8192 --cluster 2x8xH100 --batch 64",
    "--model llama3-70b --sequence 4096 --cluster 8x8xH100 --batch 256",
    "--model mixtral-8x7b --sequence 4096 --cluster 4x8xA100 --batch 128",
    "--model deepseek-v3 --sequence 4096 --cluster 32x8xH800 --batch 1920 --fix tensor=4,expert=64",
)


def run(arguments):
    """Returns the output and the processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(arguments, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def schedules_of(ashlar):
    """The names of schedules that are planned where none is named: those of layers, not searched for."""
    listed = run([ashlar, "list"])[0].stdout.split("\n\n")[0].splitlines()[1:]
    names = []
    for line in listed:
        name = line.split()[0]
        if "best schedule found" in line:
            continue
        tried = run([ashlar, "plan", *"--model 8B --sequence 64 --cluster 1x2xH100 --batch 2 --schedules".split(), name])[0]
        if "is not planned" not in tried.stderr:
            names.append(name)
    return ",".join(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ashlar")
    options = parser.parse_args()
    names = schedules_of(options.ashlar)
    print("| question | all executed, s | with bounds, s | ratio |\n|---|---:|---:|---:|")
    for question in QUESTIONS:
        asked = [options.ashlar, "plan", "--as", "json", *question.split()]
        whole, bounded = [], []
        for _ in range(3):
            (all_of_them, seconds), (shown, fewer) = run([*asked, "--schedules", names]), run(asked)
            whole.append(seconds)
            bounded.append(fewer)
            if json.loads(all_of_them.stdout)["plans"] != json.loads(shown.stdout)["plans"]:
                sys.exit(f"other plans: {question}")
        print(f"| `{question}` | {min(whole):.2f} | {min(bounded):.2f} | {min(bounded) / min(whole):.2f} |", flush=True)


if __name__ == "__main__":
    main()
