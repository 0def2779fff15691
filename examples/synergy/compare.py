#!/usr/bin/env python3
"""Compares the mechanisms `tune` and `proportional` with two CPU-bound and two other jobs on this
machine. Starts and stops a manager in a temporary directory for each mechanism.

    examples/synergy/compare.py BUILD_FOLDER [--seconds 20]

All jobs run the trainer of examples/trainer, where a step takes 20 ms on a simulated GPU. Loading
the data of a step takes 16 ms of CPU time in the "hungry" jobs and 1 ms in the "light" jobs. There
are four slots, so the proportional share of each job is a quarter of the CPUs.
"""

import argparse
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

JOBS = {"hungry-1": 16, "hungry-2": 16, "light-1": 1, "light-2": 1}  # CPU ms per step.
CONFIG = """
nodes: [{name: here, gpus: 4, cpus: 2}]
scheduler: {mechanism: %s}
progress_every: 500ms
"""


class Manager:
    def __init__(self, build, mechanism):
        self.muster = build / "bin/muster"
        self.trainer = build / "bin/trainer"
        self.scratch = tempfile.TemporaryDirectory(prefix="muster-synergy-")
        self.home = pathlib.Path(self.scratch.name)
        (self.home / "config.yaml").write_text(CONFIG % mechanism)
        self.env = {**os.environ, "MUSTER_HOME": str(self.home)}
        self.serve = subprocess.Popen([self.muster, "serve"], env=self.env, cwd=self.home,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.answers():
            time.sleep(0.05)

    def answers(self):
        try:
            return self.get("/healthz") is not None
        except OSError:
            return False

    def get(self, path):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.home / "muster.sock"))
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())

    def submit(self, name, load_ms):
        kind = name.split("-")[0]  # Muster profiles jobs with the same name and command once.
        words = [self.muster, "submit", "--json", "--name", kind, "--", self.trainer, "--steps",
                 1_000_000, "--report-every", 5, "--gpu-ms", 20, "--load-ms", load_ms]
        done = subprocess.run(list(map(str, words)), env=self.env, cwd=self.home, check=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)["id"]

    def step(self, job):
        path = self.home / f"leases/j{job}.e1/progress.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return json.loads(lines[-1])["step"] if lines else 0

    def close(self, jobs):
        subprocess.run([self.muster, "cancel", *map(str, jobs)], env=self.env,
                       stdout=subprocess.DEVNULL)
        while any(self.get(f"/v1/jobs/{job}")["state"] != "cancelled" for job in jobs):
            time.sleep(0.1)
        self.serve.send_signal(signal.SIGTERM)
        self.serve.wait()
        self.scratch.cleanup()


def settle(manager, jobs, kinds):
    """Waits until `kinds` job kinds are profiled and no event has occurred for 20 s."""
    last, since = None, time.monotonic()
    while True:
        events = [event for job in jobs
                  for event in manager.get(f"/v1/jobs/{job}/events")["events"]]
        measured = {event["name"] for event in events if event["kind"] == "profiled"}
        if len(events) != last:
            last, since = len(events), time.monotonic()
        if len(measured) >= kinds and time.monotonic() - since > 20:
            return
        time.sleep(0.5)


def run(build, mechanism, seconds):
    manager = Manager(build, mechanism)
    jobs = {name: manager.submit(name, load) for name, load in JOBS.items()}
    try:
        while any(manager.step(job) == 0 for job in jobs.values()):
            time.sleep(0.2)
        settle(manager, jobs.values(), 2 if mechanism == "tune" else 0)
        before = {name: manager.step(job) for name, job in jobs.items()}
        begin = time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - begin
        rates = {name: (manager.step(job) - before[name]) / took for name, job in jobs.items()}
        cpus = {name: manager.get(f"/v1/jobs/{job}")["leases"][-1].get("cpus")
                for name, job in jobs.items()}
        return rates, cpus
    finally:
        manager.close(jobs.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "bin/muster").exists():
        sys.exit(f"{build}: bin/muster not found; build it first: ./run --help")
    found = {}
    for mechanism in ("proportional", "tune"):
        print(f"{mechanism}: running for about a minute", file=sys.stderr)
        found[mechanism] = run(build, mechanism, options.seconds)
    (fair, fair_cpus), (tuned, tuned_cpus) = found["proportional"], found["tune"]
    print(f"{'job':10}{'proportional':>24}{'tune':>24}{'gain':>8}")
    for name in JOBS:
        print(f"{name:10}{fair[name]:>12.1f}/s{fair_cpus[name]:>5.2f} CPUs"
              f"{tuned[name]:>12.1f}/s{tuned_cpus[name]:>5.2f} CPUs{tuned[name] / fair[name]:>7.2f}x")
    total, best = sum(fair.values()), sum(tuned.values())
    print(f"{'all':10}{total:>12.1f}/s{'':10}{best:>12.1f}/s{'':10}{best / total:>7.2f}x")


if __name__ == "__main__":
    main()
