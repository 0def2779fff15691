#!/usr/bin/env python3
"""Measures Muster on a Slurm with many nodes (real slurmds on this machine) and many queued jobs:
the time of a poll cycle, and the manager's memory, descriptors and children over time.

    bench/slurm_scale.py BUILD [--nodes 200] [--queued 1000] [--seconds 60] [--sleep 10]

A cycle is the time from the start of squeue to the end of sinfo, recorded by wrappers of these
commands. The manager's CPU time is measured separately. Needs root; see tools/slurm-testbed.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import live_daemon  # noqa: E402
import slurm_bed  # noqa: E402

WRAPPER = """#!/bin/sh
date +"{name} begins %s.%N" >>{log}
{real} "$@"
status=$?
date +"{name} ends %s.%N" >>{log}
exit $status
"""


def wrap(folder, log):
    """Writes wrappers that log the start and end of each Slurm command, for the manager's PATH."""
    folder.mkdir()
    for name in ("squeue", "sinfo", "sbatch", "scontrol", "scancel"):
        real = subprocess.run(["which", name], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()
        path = folder / name
        path.write_text(WRAPPER.format(name=name, log=log, real=real))
        path.chmod(0o755)


def cycles(log):
    """Returns the seconds of each cycle, and the number of calls of each command."""
    found, calls, begin = [], {}, None
    for line in log.read_text().splitlines():
        name, what, at = line.split()
        if what == "begins":
            calls[name] = calls.get(name, 0) + 1
        if (name, what) == ("squeue", "begins"):
            begin = float(at)
        if (name, what) == ("sinfo", "ends") and begin is not None:
            found.append(float(at) - begin)
            begin = None
    return found, calls


def children(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return sum(len((task / "children").read_text().split()) for task in tasks.iterdir())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--queued", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sleep", type=float, default=10)
    options = parser.parse_args()
    live_daemon.use_programs(options.build / "bin/muster")
    bed = slurm_bed.Bed(nodes=options.nodes, slurmd_timeout=300, min_job_age=10)
    begin = time.monotonic()
    bed.up()
    print(f"{options.nodes} nodes idle after {time.monotonic() - begin:.1f} s")
    daemon = live_daemon.Daemon({"executor": "slurm", "slurm": {"partition": "main"}})
    try:
        log = daemon.base / "calls"
        wrap(daemon.base / "bin", log)
        os.environ["PATH"] = f"{daemon.base / 'bin'}:{os.environ['PATH']}"
        daemon.start()
        count = options.queued + options.nodes
        begin = time.monotonic()
        daemon.muster("submit", "--array", f"0-{count - 1}", "--gpus", 8, "--", "sleep",
                      options.sleep, timeout=600)
        print(f"{count} jobs of 8 GPUs submitted in {time.monotonic() - begin:.2f} s")
        live_daemon.until("the nodes are busy", lambda: running(daemon) >= options.nodes * 0.5,
                          timeout=600, every=0.5)
        print(f"half of the nodes busy {time.monotonic() - begin:.1f} s after that")
        log.write_text("")
        samples = []
        cpu = daemon.cpu_seconds()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            time.sleep(0.5)
            samples.append((daemon.status_of("VmRSS") / 1024,
                            len(os.listdir(f"/proc/{daemon.process.pid}/fd")),
                            children(daemon.process.pid)))
        cpu = daemon.cpu_seconds() - cpu
        took, calls = cycles(log)
        quarter = max(1, len(samples) // 4)
        print(f"{len(took)} cycles in {options.seconds:g} s: median "
              f"{statistics.median(took):.3f} s, worst {max(took):.3f} s; manager uses "
              f"{cpu / options.seconds * 100:.1f}% of a CPU")
        print(f"commands: {json.dumps(calls)}")
        for name, at in (("memory MiB", 0), ("descriptors", 1), ("children", 2)):
            first = statistics.median(s[at] for s in samples[:quarter])
            last = statistics.median(s[at] for s in samples[-quarter:])
            most = max(s[at] for s in samples)
            print(f"{name}: {first:g} at the start, {last:g} at the end, maximum {most:g}")
        ended = [line for line in daemon.ask("GET", "/metrics")[1].splitlines()
                 if line.startswith("muster_ended_total{")]
        print("; ".join(ended))
    finally:
        daemon.close()
        bed.down()


def running(daemon):
    text = daemon.ask("GET", "/metrics")[1]
    return next(int(line.split()[-1]) for line in text.splitlines()
                if line.startswith('muster_jobs{state="running"}'))


if __name__ == "__main__":
    main()
