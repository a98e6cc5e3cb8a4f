#!/usr/bin/env python3
"""Two network namespaces as two hosts: a training over the link between them, delayed and lossy where the kernel can, learns what
threads learn; a profile tells the hosts apart; and a process that is killed or stopped over there ends it here.

usage: two_hosts.py TOOL MPIRUN
Exit status 77: skipped, without the commands or the privilege to make namespaces, or without OpenMPI.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
HERE, THERE = f"ashlar{os.getpid()}a", f"ashlar{os.getpid()}b"
NET, LINK = "10.213.77", "cable"
MODEL = ["--blocks", "4", "--width", "16", "--heads", "2", "--context", "16", "--sequences", "1", "-m", "4"]


def run(*command, **how):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def set_up():
    """Says what the link is like."""
    for name in (HERE, THERE):
        if (made := run("ip", "netns", "add", name)).returncode:
            skip(f"no network namespaces: {made.stdout.strip()}")
    made = run("ip", "link", "add", "name", LINK, "netns", HERE, "type", "veth", "peer", "name", LINK, "netns", THERE)
    if made.returncode:
        skip(f"no veth pair: {made.stdout.strip()}")
    for number, name in enumerate((HERE, THERE), 1):
        run("ip", "-n", name, "addr", "add", f"{NET}.{number}/24", "dev", LINK, check=True)
        for device in (LINK, "lo"):
            run("ip", "-n", name, "link", "set", device, "up", check=True)
    worse = [run("tc", "-n", name, "qdisc", "add", "dev", LINK, "root", "netem", "delay", "1ms", "loss", "0.5%")
             for name in (HERE, THERE)]
    if any(w.returncode for w in worse):
        return f"without delay and loss, which tc refuses: {worse[0].stdout.strip()}"
    return "with 1 ms of delay and 0.5 % of loss"


def on_two_hosts(folder, mpirun, *command):
    """The line that starts four processes, two on each."""
    agent = folder / "agent.sh"
    agent.write_text(f'#!/bin/sh\nshift\nexec ip netns exec {THERE} unshare -u sh -c "hostname there; $*"\n')
    agent.chmod(0o755)
    options = ["--allow-run-as-root", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", agent, "--mca", "btl_tcp_if_include",
               f"{NET}.0/24", "--mca", "oob_tcp_if_include", f"{NET}.0/24", "--host", f"{NET}.1:2,{NET}.2:2", "-n", 4]
    line = " ".join(f"'{word}'" for word in [mpirun, *options, *command])
    return ["ip", "netns", "exec", HERE, "unshare", "-u", "sh", "-c", f"hostname here; exec {line}"]


def learned(folder, step):
    """Checksums of all that was learned."""
    text = (folder / f"step-{step:08}.checkpoint" / "manifest.json").read_text()
    checkpoint = json.loads(text)["checkpoint"]
    return checkpoint["losses"], {name: t["crc32"] for part in checkpoint["parts"] for name, t in part["tensors"].items()}


def processes_with(word):
    """The processes of the tool that were started with this word."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if word.encode() in words and words[0].endswith(b"ashlar"):
                found.append(int(entry.name))
        except OSError:
            pass
    return sorted(found)


def host_of(process):
    return os.readlink(f"/proc/{process}/ns/net")


def trains(folder, tool, mpirun, corpus):
    line = [*MODEL, "--corpus", corpus, "--steps", 3, "--schedule"]
    threads = run(tool, "train", *map(str, line), "zb-h1", "-p", "4", "--save", folder / "threads")
    assert threads.returncode == 0, threads.stdout
    hosts = run(*on_two_hosts(folder, mpirun, tool, "train", "--backend", "mpi", *line, "zb-h1", "-p", 4, "--verify", "--save",
                              folder / "hosts"), timeout=60)
    assert hosts.returncode == 0, hosts.stdout
    assert "bitwise equal to the sequential model's" in hosts.stdout, hosts.stdout
    assert learned(folder / "hosts", 3) == learned(folder / "threads", 3)


def profiles(folder, tool, mpirun, corpus):
    file = folder / "costs.json"
    done = run(*on_two_hosts(folder, mpirun, tool, "profile", "--backend", "mpi", *MODEL, "--corpus", corpus, "--schedule", "1f1b",
                             "-p", 4, "--repeats", 1, "-o", file), timeout=60)
    assert done.returncode == 0, done.stdout
    links = json.loads(file.read_text())["costs"]["links"]
    assert links["node_size"] == 2 and links["between"]["latency"]["median"] > 0, links


def ends_with(number, expected, folder, tool, mpirun, corpus):
    """A process of the other host gets a signal: all end, one of the expected texts is told, and nothing is left."""
    seed = str(os.getpid())
    line = on_two_hosts(folder, mpirun, tool, "train", "--backend", "mpi", *MODEL, "--corpus", corpus, "--schedule", "1f1b", "-p", 4,
                        "--steps", 1000000, "--deadline", 3, "--seed", seed)
    with open(folder / "out", "w") as out, subprocess.Popen(line, stdout=out, stderr=subprocess.STDOUT) as training:
        for _ in range(300):
            if "1/1000000" in (folder / "out").read_text() or training.poll() is not None:
                break
            time.sleep(0.1)
        own = host_of(training.pid)
        over_there = [p for p in processes_with(seed) if host_of(p) != own]
        assert len(over_there) == 2, (over_there, (folder / "out").read_text())
        os.kill(over_there[0], number)
        begin = time.monotonic()
        status = training.wait(timeout=30)
        print(f"{number.name}: ended {time.monotonic() - begin:.1f} s later")
    text = (folder / "out").read_text()
    assert status != 0 and any(words in text for words in expected), text
    for _ in range(50):
        if not processes_with(seed):
            return
        time.sleep(0.1)
    raise AssertionError(f"still there: {processes_with(seed)}")


def main():
    tool, mpirun = Path(sys.argv[1]).resolve(), sys.argv[2]
    for command in ("ip", "tc", "unshare"):
        if not shutil.which(command):
            skip(f"no command '{command}' to make two hosts with")
    if "Open MPI" not in run(mpirun, "--version").stdout and "OpenRTE" not in run(mpirun, "--version").stdout:
        skip("only OpenMPI is told how to reach the other host")
    try:
        print(f"two hosts, {set_up()}")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            corpus = folder / "text.txt"
            corpus.write_text("a stone, a stone, and a joint between stones\n" * 400)
            trains(folder, tool, mpirun, corpus)
            profiles(folder, tool, mpirun, corpus)
            # MPI may know of a broken connection before the deadline; of a silent one it does not.
            broken = [" has waited ", "unexpectedly disconnected", "failed to TCP connect"]
            ends_with(signal.SIGKILL, broken, folder, tool, mpirun, corpus)
            ends_with(signal.SIGSTOP, [" does not answer"], folder, tool, mpirun, corpus)
    finally:
        for name in (HERE, THERE):
            run("ip", "netns", "del", name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
