#!/usr/bin/env python3
"""Compares makespan and mean JCT of one workload on a live Slurm and in the simulator.

    bench/slurm_fidelity.py BUILD [--jobs 30] [--policy fifo,srtf] [--seed 1]

The Slurm has four nodes (real slurmds on this machine); the jobs run the trainer of examples/. Jobs
take 20 to 60 s (--gpu-ms), arrive at random and request 1 to 16 GPUs. The simulator gets the actual
run times and the live costs of a stop and a start. Needs root; see tools/slurm-testbed.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import live_daemon  # noqa: E402
import slurm_bed  # noqa: E402

STEP_MS = 25
# Time of a stop and a start on this testbed. The shim receives a stop within 0.2 s, and the trainer
# saves in milliseconds. A start consists of sbatch, release and the next poll.
STOP_S, START_S = 0.3, 0.5


def workload(jobs, seed):
    """Returns (arrival, GPUs, seconds) of each job."""
    draw = random.Random(seed)
    at, found = 0.0, []
    for _ in range(jobs):
        found.append((round(at, 2), draw.choice([1, 1, 1, 2, 2, 4, 4, 8, 8, 16]),
                      draw.randint(800, 2400) * STEP_MS / 1000))
        at += draw.expovariate(1 / 4.0)
    return found


def live(build, policy, jobs):
    trainer = build.resolve() / "bin/trainer"
    daemon = live_daemon.Daemon({
        "executor": "slurm", "slurm": {"partition": "main", "every": "500ms"}, "grace": "10s",
        "scheduler": {"policy": policy, "estimates": "user", "min_run": "0s"}})
    try:
        daemon.start()
        begin = time.monotonic()
        ids = []
        for number, (at, gpus, seconds) in enumerate(jobs):
            time.sleep(max(0.0, begin + at - time.monotonic()))
            ids.append(daemon.post("/v1/jobs", {
                "command": [str(trainer), "--steps", str(round(seconds * 1000 / STEP_MS)),
                            "--gpu-ms", str(STEP_MS), "--checkpoint", f"{daemon.work}/{number}"],
                "cwd": str(daemon.work), "gpus": gpus, "estimate": f"{seconds}s"})["id"])
        live_daemon.until("all jobs have finished", lambda: all(
            daemon.job(job)["state"] in live_daemon.OVER for job in ids), timeout=3600, every=1)
        rows = [daemon.job(job) for job in ids]
        assert all(row["state"] == "done" for row in rows), rows
        first = min(row["submitted"] for row in rows)
        jct = [row["ended"] - row["submitted"] for row in rows]
        return {"makespan_s": max(row["ended"] for row in rows) - first,
                "jct_mean_s": sum(jct) / len(jct),
                "preemptions": sum(row["leases_used"] - 1 for row in rows)}
    finally:
        daemon.close()


def simulated(build, policy, jobs):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as trace:
        trace.write("job_id,submit_time,num_gpu,duration\n")
        for number, (at, gpus, seconds) in enumerate(jobs, 1):
            trace.write(f"{number},{at},{gpus},{seconds}\n")
        trace.flush()
        said = subprocess.run(
            [build / "bin/muster", "sim", "--json", "--trace", trace.name, "--cluster",
             "4x8,cpus=24,mem=488.28", "--policy", policy, "--min-run", "0s", "--checkpoint-cost",
             f"{STOP_S}s", "--restart-cost", f"{START_S}s", "--migration-cost", "0s"],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        return json.loads(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--policy", default="fifo,srtf")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    live_daemon.use_programs(options.build / "bin/muster")
    jobs = workload(options.jobs, options.seed)
    bed = slurm_bed.Bed(nodes=4)
    bed.up()
    try:
        print(f"{options.jobs} jobs over {jobs[-1][0]:.0f} s on 4 nodes of 8 GPUs")
        print("policy     makespan: live  simulated  error    mean JCT: live  simulated  error   "
              "preemptions: live  simulated")
        for policy in options.policy.split(","):
            was = live(options.build, policy, jobs)
            said = simulated(options.build, policy, jobs)
            off = [100 * (was[key] / said[key] - 1) for key in ("makespan_s", "jct_mean_s")]
            print(f"{policy:<9} {was['makespan_s']:14.2f} {said['makespan_s']:10.2f} "
                  f"{off[0]:+5.1f}% "
                  f"{was['jct_mean_s']:16.2f} {said['jct_mean_s']:10.2f} {off[1]:+5.1f}% "
                  f"{was['preemptions']:19d} {said['preemptions']:10d}", flush=True)
    finally:
        bed.down()


if __name__ == "__main__":
    main()
