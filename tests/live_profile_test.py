#!/usr/bin/env python3
"""Measured needs of jobs: `muster profile`, the measurement of the first job of a kind while it
runs, and tune with two jobs that need CPU and two that do not.

    tests/live_profile_test.py MUSTER TRAINER [TEST...]
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, Programs, until  # noqa: E402

# A step takes 20 ms on a simulated GPU, and --load-ms of CPU time for loading.
HUNGRY = ("--load-ms", 16, "--gpu-ms", 20)
LIGHT = ("--load-ms", 1, "--gpu-ms", 20)
FOREVER = ("--steps", 1_000_000, "--report-every", 5)


def groups_work():
    """Whether the machine can limit CPUs; otherwise no measurement is possible."""
    for root in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
        probe = pathlib.Path(root) / f"muster-probe-{os.getpid()}"
        try:
            probe.mkdir()
            found = (probe / "cpu.max").exists() or (probe / "cpu.cfs_quota_us").exists()
            probe.rmdir()
            if found:
                return True
        except OSError:
            continue
    return False


def cpus_free():
    """Whether most of the CPU is idle while no test job runs."""
    def ticks():
        return list(map(int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]))
    before = ticks()
    time.sleep(2)
    spent = [now - then for now, then in zip(ticks(), before)]
    return spent[3] > 0.9 * sum(spent)


class ProfileTest(LiveTest):
    def setUp(self):
        super().setUp()
        if not groups_work():
            self.skipTest("CPU cannot be limited here: no control groups")

    def events(self, job, kind):
        found = self.daemon.get(f"/v1/jobs/{job}/events")["events"]
        return [event["words"] for event in found if event["kind"] == kind]

    def story(self):
        """Text for the message of a failure."""
        told = [f"{event['at']:.0f} {event.get('job')} {event['kind']}: {event['words']}"
                for event in self.daemon.get("/v1/events")["events"]]
        return "\n".join([*told, json.dumps(self.daemon.get("/v1/profiles"))])

    def limit(self, job, lease=1):
        """The CPU limit of the shim."""
        return self.daemon.tell_shim(f"j{job}.e{lease}", {"do": "status"})["cpu_milli"] / 1000

    def steps(self, job, lease=1):
        text = self.daemon.record(f"j{job}.e{lease}", "progress.jsonl").read_text()
        lines = text[:text.rfind("\n") + 1].splitlines()
        return json.loads(lines[-1])["step"] if lines else 0

    def rates(self, jobs, seconds):
        before = [self.steps(job) for job in jobs]
        time.sleep(seconds)
        return [(self.steps(job) - first) / seconds for job, first in zip(jobs, before)]


class Tuned(ProfileTest):
    """Two jobs that need CPU and two that do not, on four GPUs and two CPUs."""
    CONFIG = {"nodes": [{"name": "one", "gpus": 4, "cpus": 2, "mem": 4}],
              "scheduler": {"mechanism": "tune"}}

    def test_each_gets_what_it_gains_by(self):
        # Measurements on a busy machine are wrong. Repeat them if the machine is idle.
        for attempt in range(3):
            self.daemon = self.daemon_with(self.CONFIG)
            trouble = self.tuned()
            if trouble is None:
                return self.check_restart()
            print(f"attempt {attempt + 1}: {trouble}", file=sys.stderr)
            self.daemon.close()
            if not cpus_free():
                self.skipTest("the CPUs are busy with other things")
        self.fail(trouble)

    def tuned(self):
        """Runs two jobs of each kind. Returns a text if their shares are wrong, or None."""
        train = (Programs.trainer, *FOREVER)
        self.light = [self.submit("--name", "light", "--", *train, *LIGHT) for _ in range(2)]
        self.hungry = [self.submit("--name", "hungry", "--", *train, *HUNGRY) for _ in range(2)]
        for job in self.light + self.hungry:
            self.wait_state(job, "running")
        # One job of each kind is measured while all run.
        try:
            until("both kinds are measured",
                  lambda: all(any(self.events(job, "profiled") for job in kind)
                              for kind in (self.light, self.hungry)), timeout=120)
            until("shares", self.shares_are_right, timeout=40)
        except AssertionError:
            return self.story()
        return None

    def shares_are_right(self):
        return all(self.limit(job) < 0.35 for job in self.light) and \
            all(self.limit(job) > 0.6 for job in self.hungry)

    def check_restart(self):
        profiles = {each["name"]: each for each in self.daemon.get("/v1/profiles")["profiles"]}
        self.assertLess(profiles["light"]["need_cpus"], 0.35)
        self.assertGreater(profiles["hungry"]["need_cpus"], 0.4)
        # All are still in their first lease: no job was restarted.
        for job in self.light + self.hungry:
            self.assertEqual(len(self.daemon.job(job)["leases"]), 1)
        # After a restart the manager has the same profiles and gives the same shares.
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual({each["name"] for each in self.daemon.get("/v1/profiles")["profiles"]},
                         {"light", "hungry"})
        until("limits after a restart", self.shares_are_right)


class ByCommand(ProfileTest):
    """The command muster profile on this machine."""

    def profile(self, *words, status=0):
        home = self.daemon.base
        run = subprocess.run([Programs.muster, "profile", *map(str, words)], cwd=home,
                             env=self.daemon.environment(), capture_output=True, text=True)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run

    def simulate(self, name, mechanism):
        """Checks that the simulator can read the written profile."""
        trace = self.daemon.base / "t.csv"
        trace.write_text(f"job_id,submit_s,duration_s,gpus,model\n1,0,600,1,{name}\n")
        out, _ = self.daemon.muster("sim", "--trace", trace, "--cluster", "1x4,cpus=2,mem=4",
                                    "--profiles", self.daemon.base / f"{name}.profile.yaml",
                                    "--mechanism", mechanism, "--json")
        self.assertEqual(json.loads(out)["finished"], 1)

    def test_a_planted_demand_is_found(self):
        # 8 ms of CPU per step of 20 ms: slightly above 0.4 CPUs; less precise on a busy machine.
        for _ in range(3):
            run = self.profile("--json", "--name", "planted", "--most-cpus", 1, "--",
                               Programs.trainer, *FOREVER, "--load-ms", 8, "--gpu-ms", 20)
            found = json.loads(run.stdout)
            if 0.35 < found["need_cpus"] < 0.75 and found["grid_seconds"] > 3 * found["seconds"]:
                break
            if not cpus_free():
                self.skipTest("the CPUs are busy with other things")
        else:
            self.fail(found)
        text = (self.daemon.base / "planted.profile.yaml").read_text()
        self.assertIn("name: planted", text)
        self.assertIn("<svg", (self.daemon.base / "planted.profile.svg").read_text())
        # The manager has the profile, and the simulator can read it.
        profiles = self.daemon.get("/v1/profiles")["profiles"]
        self.assertEqual([each["name"] for each in profiles], ["planted"])
        listed, _ = self.daemon.muster("profile", "--list")
        self.assertIn("planted", listed)
        self.simulate("planted", "tune")

    def test_with_its_data_memory_is_modelled(self):
        data = self.daemon.base / "data"
        data.mkdir()
        (data / "images").write_bytes(os.urandom(32 << 20))
        run = self.profile("--json", "--alone", "--name", "reads", "--most-cpus", 0.5, "--dataset",
                           data, "--epoch-steps", 10, "--", Programs.trainer, *FOREVER, *LIGHT)
        found = json.loads(run.stdout)
        dataset, step, base, memory, storage = found["data"]
        self.assertEqual((dataset, step), (32, 3.2))
        self.assertGreaterEqual(base, 64)
        self.assertGreater(min(memory, storage), 0)
        self.simulate("reads", "blend")

    def test_what_cannot_be_measured_is_said_in_one_sentence(self):
        brief = self.profile("--", "true", status=1).stderr
        self.assertEqual(brief, "muster: the job ended before its speed was measured at any "
                         "CPU limit: no speed data; the job gets its proportional share\n")
        failed = self.profile("--", "sh", "-c", "echo no data; exit 4", status=1).stderr
        self.assertIn("the job failed", failed)
        self.assertIn("no data", failed)
        missing = self.profile("--dataset", "/nowhere/at/all", "--", "true", status=1).stderr
        self.assertTrue(missing.startswith("muster: dataset: no such file or directory"), missing)
        self.assertEqual(missing.count("\n"), 1)
        many = self.profile("--gpus", 99, "--", "true", status=1).stderr
        self.assertIn("gpus: 99 requested", many)
        wrong = self.profile("--most-cpus", "x", "--", "true", status=2).stderr
        self.assertTrue(wrong.startswith("muster: --most-cpus: "), wrong)


class Unprivileged(LiveTest):
    @unittest.skipUnless(os.geteuid() == 0, "only root can play another user")
    def test_without_rights_nothing_is_measured(self):
        daemon = self.daemon_with({}, as_user=65534, start=False)
        process = daemon.verb("profile", "--", "true")
        out, err = [text.decode() for text in process.communicate()]
        self.assertEqual(process.returncode, 1, out + err)
        self.assertTrue(err.startswith("muster: CPU cannot be limited here ("), err)
        self.assertTrue(err.endswith("the job gets its proportional share\n"), err)


if __name__ == "__main__":
    live_daemon.main(__doc__)
