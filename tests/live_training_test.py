#!/usr/bin/env python3
"""The live manager with a real training job. After a preemption it gives the same result. With less
CPU it is slower, without a restart. The job that saved last is chosen as victim.

    tests/live_training_test.py MUSTER TRAINER [TEST...]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, Programs, proc, until  # noqa: E402

STEPS = 800  # With 4 ms per step, the job does not finish before it is stopped.


def told(path):
    """Returns the complete lines of a progress file."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def losses(path):
    return [(said["step"], said["loss"]) for said in told(path) if "loss" in said]


def cpu_of(pid):
    """Returns the CPU seconds of a process."""
    fields = proc(pid, "stat").decode().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class TrainingTest(LiveTest):
    def train(self, name, *words, daemon=None, submit=()):
        daemon = daemon or self.daemon
        return self.submit("--name", name, *submit, "--", Programs.trainer, "--checkpoint",
                           daemon.work / f"{name}.ckpt", "--report-every", 1, *words)

    def progress(self, job, lease=1):
        return self.daemon.record(f"j{job}.e{lease}", "progress.jsonl")

    def wait_step(self, job, step, lease=1):
        until(f"step {step} of job {job}",
              lambda: any(at >= step for at, _ in losses(self.progress(job, lease))))

    def step(self, job):
        return losses(self.progress(job))[-1][0]


class Resumes(TrainingTest):
    """A job that is preempted and resumed gives the same steps as an uninterrupted run."""
    CONFIG = {"virtual_gpus": 1,
              "scheduler": {"policy": "srtf", "estimates": "user", "min_run": "0s"}}
    WORDS = ("--steps", STEPS, "--load-ms", 4)

    def alone(self):
        with tempfile.TemporaryDirectory() as scratch:
            progress = pathlib.Path(scratch) / "progress"
            subprocess.run([Programs.trainer, "--steps", str(STEPS), "--report-every", "1"],
                           check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "MUSTER_PROGRESS": str(progress)})
            return losses(progress)

    def check_losses(self, job, leases):
        self.assertEqual(self.daemon.job(job)["leases_used"], leases)
        parts = [losses(self.progress(job, lease)) for lease in range(1, leases + 1)]
        for part in parts:
            self.assertGreater(len(part), 0)
        whole = [each for part in parts for each in part]
        self.assertEqual([step for step, _ in whole], list(range(1, STEPS + 1)))
        self.assertEqual(whole, self.alone())

    def test_held_and_released(self):
        job = self.train("held", *self.WORDS)
        for lease in (1, 2):
            self.wait_step(job, 30 * lease, lease)
            self.assertEqual(self.daemon.post(f"/v1/jobs/{job}/hold"),
                             {"id": job, "state": "stopping"})
            self.wait_state(job, "held")
            until("its shim is gone", lambda: not self.daemon.shims())
            self.assertEqual(self.daemon.json("release", job)["state"], "queued")
        self.wait_over(job)
        self.check_losses(job, 3)

    def test_preempted_by_the_scheduler(self):
        job = self.train("long", *self.WORDS, submit=("--estimate", "1h"))
        for lease in (1, 2):
            self.wait_step(job, 30 * lease, lease)
            short = self.post_job(["sleep", "0.2"], estimate="1s")
            self.wait_over(short)
            self.assertEqual(self.kinds(job).count("preempted"), lease)
        self.wait_over(job)
        self.check_losses(job, 3)
        states = [lease["state"] for lease in self.daemon.job(job)["leases"]]
        self.assertEqual(states, ["stopped", "stopped", "finished"])


class LosesLeast(TrainingTest):
    """The borrower that saved last is preempted, although the other one has run less."""
    CONFIG = {"virtual_gpus": 2, "scheduler": {"min_run": "0s"},
              "tenants": {"list": [{"name": "owner", "quota": 2}, {"name": "guest"}]}}

    def test_who_saved_last_is_stopped(self):
        def guest(name, *words):
            job = self.train(name, "--steps", 100000, "--load-ms", 2, *words,
                             submit=("--tenant", "guest"))
            self.wait_step(job, 1)
            return job
        saves = guest("saves", "--checkpoint-every", 5)
        until("it saves", lambda: any(said.get("saved") for said in told(self.progress(saves))))
        never = guest("never", "--checkpoint-every", 1000000)
        until("it has much to lose", lambda: self.daemon.job(never)["ran_s"] > 3)
        owner = self.submit("--tenant", "owner", "--", "sleep", "0.3")
        self.wait_over(owner)
        self.assertIn("preempting", self.kinds(saves))
        self.assertNotIn("preempting", self.kinds(never))
        used = {tenant["name"]: tenant["gpus_used"]
                for tenant in self.daemon.json("tenants")["tenants"]}
        self.assertEqual(used["owner"], 0)


class Resizes(TrainingTest):
    """A node with one CPU and ten GPUs. One CPU-bound job gets the whole CPU, ten jobs get a tenth
    each. The difference is visible even if other programs use the CPU."""
    CONFIG = {"nodes": [{"name": "small", "gpus": 10, "cpus": 1, "mem": 10}],
              "scheduler": {"mechanism": "tune", "min_run": "0s"}, "profiles": "hungry.yaml"}
    PROFILES = {"profiles": [{
        "name": "hungry", "ideal": {"cpus": 1, "mem_gb": 1, "speedup": 4},
        "matrix": {"cpus": [0.1, 0.5, 1], "mem_gb": [1, 4],
                   "speed": [[0.1, 0.1], [0.5, 0.5], [1, 1]]}}]}

    def rate(self, job, seconds=1.5):
        """Returns steps and CPU seconds per second, and those of a process without limits."""
        def look():
            return time.monotonic(), self.step(job), cpu_of(self.pid), cpu_of(self.control.pid)
        began = look()
        time.sleep(seconds)
        ended = look()
        return [(after - before) / (ended[0] - began[0])
                for before, after in zip(began[1:], ended[1:])]

    def trainer_pid(self, job):
        for pid in self.daemon.processes():
            if os.fsencode(Programs.trainer) in proc(pid, "cmdline").split(b"\0")[:1]:
                return pid
        return None

    def test_speed_follows_the_share(self):
        self.daemon = self.daemon_with(self.CONFIG, start=False)
        (self.daemon.home / "hungry.yaml").write_text(json.dumps(self.PROFILES))
        self.daemon.start()
        job = self.train("hungry", "--steps", 1000000, "--load-ms", 5, submit=("--model", "hungry"))
        self.wait_step(job, 5)
        self.pid = self.trainer_pid(job)
        self.control = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.addCleanup(self.control.wait)
        self.addCleanup(self.control.kill)
        free = False  # Whether a CPU was ever available.
        for _ in range(4):
            wrong, control = self.shares(job)
            if not wrong:
                break
            print(f"{wrong}; one without limits had {control:.2f} of a CPU", file=sys.stderr)
            free = free or control > 0.6
        if wrong and not free:
            self.skipTest(f"the CPUs are busy: {wrong}")
        self.assertFalse(wrong)
        self.assertIn("resized", self.kinds(job))
        self.assertEqual(self.trainer_pid(job), self.pid)
        self.assertEqual(self.daemon.job(job)["leases_used"], 1)

    def shares(self, job):
        """Checks the speed alone, with others and alone again. Returns a text if it is wrong, and
        the minimum CPU share of a process without limits."""
        self.assertEqual(self.daemon.job(job)["cpus"], 1)
        fast, _, before = self.rate(job)
        others = [self.post_job(["sleep", "600"], model="hungry") for _ in range(9)]
        for other in others:
            self.wait_state(other, "running")
        self.assertEqual(self.daemon.job(job)["cpus"], 0.1)
        until("the shim has the new limit", lambda: self.daemon.tell_shim(
            f"j{job}.e1", {"do": "status"})["cpu_milli"] == 100)
        time.sleep(0.3)
        slow, used, beside = self.rate(job, 2)
        self.daemon.muster("cancel", *others)
        until("it has the CPU again", lambda: self.daemon.job(job)["cpus"] == 1)
        time.sleep(0.3)
        again, _, after = self.rate(job)
        wrong = [words for words, is_so in (
            (f"{used:.2f} is more than a tenth of a CPU", used >= 0.2),
            (f"{used:.2f} is hardly any CPU", used <= 0.03),
            (f"progress did not follow: {fast:.0f}/s, then {slow:.0f}/s", slow >= 0.6 * fast),
            (f"progress did not follow back: {slow:.0f}/s, then {again:.0f}/s",
             again <= 1.5 * slow)) if is_so]
        return ", ".join(wrong), min(before, beside, after)


if __name__ == "__main__":
    live_daemon.main(__doc__)
