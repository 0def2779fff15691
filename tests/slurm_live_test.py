#!/usr/bin/env python3
"""The live manager on a real Slurm with four nodes: gangs with exact resources, preemption,
retries, cancellation, nodes that come and go, external jobs, and restarts of the manager.

    tests/slurm_live_test.py MUSTER TRAINER [TEST...]
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
import slurm_bed  # noqa: E402
from live_daemon import GATE, LiveTest, Programs, until  # noqa: E402

BED = slurm_bed.Bed(nodes=4, racks=2, slurmd_timeout=8)
SHARE = (3, 62500)  # CPUs and MiB per GPU.
SAYS = f"echo $NODE_RANK of $WORLD_SIZE on $MUSTER_NODE: $CUDA_VISIBLE_DEVICES; {GATE}"


def setUpModule():
    BED.up()


def tearDownModule():
    BED.down()


class SlurmTest(LiveTest):
    CONFIG = {"executor": "slurm", "slurm": {"partition": "main"},
              "scheduler": {"min_run": "0s", "estimates": "user", "policy": "srtf"}}

    def tearDown(self):
        super().tearDown()
        BED.run("scancel", "--user=root")
        until("the bed is empty", lambda: not BED.jobs())
        BED.run("scontrol", "update", "nodename=n[1-4]", "state=resume", check=False)

    def ours(self, job, lease=1):
        mark = f":j{job}.e{lease}:"
        return [row for row in BED.ours() if mark in row["comment"]]

    def nodes(self):
        return {node["name"]: node for node in self.daemon.get("/v1/nodes")["nodes"]}


class Runs(SlurmTest):
    def test_cluster_is_slurms(self):
        nodes = self.nodes()
        self.assertEqual(sorted(nodes), ["n1", "n2", "n3", "n4"])
        self.assertEqual({node["rack"] for node in nodes.values()}, {"rack1", "rack2"})
        for node in nodes.values():
            self.assertEqual(node["gpus"], 8)
        self.assertIn("users who submit", self.daemon.muster("nodes")[0])

    def test_gangs_have_exactly_what_was_decided(self):
        """Two whole nodes; then 4 and 2 GPUs on the rest of two others."""
        even = self.submit("--name", "even", "--gpus", 16, "--", "sh", "-c", SAYS)
        fillers = [self.submit("--gpus", gpus, "--", "sh", "-c", GATE) for gpus in (4, 6)]
        for job in (even, *fillers):
            self.wait_state(job, "running")
        uneven = self.submit("--name", "uneven", "--gpus", 6, "--", "sh", "-c", SAYS)
        self.wait_state(uneven, "running")

        rows = self.ours(even)
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]["name"], f"j{even}.e1/even")
        whole = (8 * SHARE[0], 8 * SHARE[1], 8)
        has = BED.resources(rows[0]["id"])
        self.assertEqual(list(has.values()), [whole, whole])

        rows = self.ours(uneven)
        self.assertEqual(len(rows), 2)
        has = {}
        for row in rows:
            has.update(BED.resources(row["id"]))
        self.assertEqual(sorted(has.values()),
                         [(2 * SHARE[0], 2 * SHARE[1], 2), (4 * SHARE[0], 4 * SHARE[1], 4)])
        where = self.daemon.job(uneven)["where"]
        for node in has:
            self.assertIn(node, where)
        for rank, node in enumerate(sorted(has)):
            until("it speaks", lambda: self.output(uneven, node=rank))
            line = self.output(uneven, node=rank).splitlines()[0]
            self.assertTrue(line.startswith(f"{rank} of 2 on {node}: "), line)
            self.assertEqual(len(line.split(": ")[1].split(",")), has[node][2])
        ids = {row["id"] for row in BED.ours()}
        self.assertEqual(len(ids), 5)
        self.go()
        for job in (even, uneven, *fillers):
            self.wait_over(job)
        until("Slurm has none of them", lambda: not BED.ours())
        states = {row["state"] for row in BED.ours(live=False) if row["id"] in ids}
        self.assertEqual(states, {"COMPLETED"})

    def test_fails_retries_and_is_cancelled(self):
        fails = self.submit("--", "sh", "-c", "echo it breaks; exit 3")
        self.assertIn("status 3", self.wait_over(fails, "failed")["why"])
        long = self.submit("--gpus", 12, "--", "sh", "-c", "trap 'echo saved; exit 0' TERM; "
                           "while :; do sleep 0.1; done")
        self.wait_state(long, "running")
        self.daemon.muster("cancel", long)
        self.wait_over(long, "cancelled")
        until("Slurm has none of them", lambda: not BED.ours())
        for node in (0, 1):
            self.assertEqual(self.output(long, node=node).split()[-1], "saved")
        limited = self.submit("--time-limit", "1s", "--", "sleep", "60")
        self.assertIn("time limit", self.wait_over(limited, "failed")["why"])
        once = self.submit("--", "sh", "-c", "if [ -e tried ]; then exit 0; fi; touch tried; "
                           "kill -SEGV $$")
        done = self.wait_over(once)
        self.assertEqual(done["leases_used"], 2)
        where = [lease["where"].split(":")[0] for lease in done["leases"]]
        self.assertNotEqual(*where)  # On another node.

    def test_a_manager_that_comes_back(self):
        running = self.submit("--gpus", 12, "--", "sh", "-c", GATE)
        ends = self.submit("--", "sh", "-c", "while [ ! -e end ]; do sleep 0.05; done")
        for job in (running, ends):
            self.wait_state(job, "running")
        before = sorted(row["id"] for row in BED.ours())
        self.daemon.kill()
        (self.daemon.work / "end").touch()
        until("it ended meanwhile", lambda: self.daemon.record(f"j{ends}.e1", "exit.json").exists())
        self.daemon.start()
        self.wait_over(ends)
        self.assertEqual(self.daemon.job(running)["state"], "running")
        self.daemon.stop()
        self.daemon.start()
        self.go()
        self.assertEqual(self.wait_over(running)["leases_used"], 1)
        self.assertEqual(sorted(row["id"] for row in BED.ours(live=False) if row["id"] in before),
                         before)


class Costs(SlurmTest):
    def by_hand(self):
        """Returns the seconds from the release of a job to its start, without Muster."""
        out = self.daemon.work / "by-hand"
        out.unlink(missing_ok=True)
        job = BED.run("sbatch", "--parsable", "-H", "-w", "n1", "-c", "3", "--mem=1000",
                      "--gres=gpu:1", "-o", out, "--wrap", "date +%s.%N").strip()
        begin = time.time()
        BED.run("scontrol", "release", job)
        until("it ran", lambda: out.exists() and out.read_text().endswith("\n"))
        return float(out.read_text()) - begin

    def by_muster(self):
        """Returns the seconds from the decision, which is the submission on an empty cluster."""
        begin = time.time()
        job = self.submit("--", "date", "+%s.%N")
        self.wait_over(job)
        return float(self.output(job)) - begin

    def test_starts_about_as_soon_as_slurm_can(self):
        self.daemon
        hand = statistics.median(self.by_hand() for _ in range(5))
        muster = statistics.median(self.by_muster() for _ in range(5))
        print(f"release to running: {hand:.3f} s by Slurm, {muster:.3f} s by Muster", end=" ")
        self.assertLess(muster, hand + 1)

    def test_many_leases_leave_nothing_behind(self):
        """After 200 short leases there is no leak of descriptors, children or memory."""
        def look():
            return (len(os.listdir(f"/proc/{self.daemon.process.pid}/fd")),
                    self.daemon.status_of("VmRSS"))
        def churn(jobs):
            array = self.submit("--array", f"1-{jobs}", "--gpus", "4", "--", "true")
            for job in range(array, array + jobs):
                self.wait_over(job)
            until("Slurm has none of them", lambda: not BED.ours())
            until("no command is under way", lambda: not self.children())
        churn(40)
        fds, memory = look()
        churn(160)
        until(lambda: f"as many descriptors as before: {fds}, {look()}", lambda: look()[0] <= fds)
        self.assertLess(look()[1] - memory, 30_000 if live_daemon.sanitized() else 6_000)
        self.assertFalse(self.daemon.shims())

    def children(self):
        tasks = pathlib.Path(f"/proc/{self.daemon.process.pid}/task")
        return "".join((task / "children").read_text() for task in tasks.iterdir()).split()


class Trains(SlurmTest):
    """After a preemption by a shorter job, the result equals that of an uninterrupted run."""
    STEPS = 600

    def losses(self, path):
        text = path.read_text() if path.exists() else ""
        told = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        return [(said["step"], said["loss"]) for said in told if "loss" in said]

    def test_preempted(self):
        blocker = self.submit("--gpus", 24, "--estimate", "10s", "--", "sh", "-c", GATE)
        self.wait_state(blocker, "running")
        job = self.submit("--gpus", 8, "--estimate", "1h", "--", Programs.trainer, "--steps",
                          self.STEPS, "--load-ms", 4, "--report-every", 1, "--checkpoint",
                          self.daemon.work / "ckpt")
        first = self.daemon.record(f"j{job}.e1", "progress.jsonl")
        until("it has learnt something", lambda: len(self.losses(first)) > 30)
        short = self.submit("--gpus", 8, "--estimate", "1s", "--", "sleep", "0.2")
        self.wait_over(short)
        done = self.wait_over(job)
        self.assertEqual(done["leases_used"], 2)
        self.assertEqual([lease["state"] for lease in done["leases"]], ["stopped", "finished"])
        whole = self.losses(first) + self.losses(
            self.daemon.record(f"j{job}.e2", "progress.jsonl"))
        alone = self.daemon.base / "alone"
        subprocess.run([Programs.trainer, "--steps", str(self.STEPS), "--report-every", "1"],
                       check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "MUSTER_PROGRESS": str(alone)})
        self.assertEqual(whole, self.losses(alone))
        self.go()
        self.wait_over(blocker)


class Servers(SlurmTest):
    def state(self, node):
        return self.nodes()[node]["state"]

    def test_drained_in_slurm_and_back(self):
        self.daemon
        for node in ("n1", "n2", "n3"):
            BED.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=new fan")
        until("they take no jobs", lambda: all(self.state(n) != "open" for n in ("n1", "n2", "n3")))
        self.assertIn("new fan", self.daemon.muster("nodes")[0])
        waits = self.submit("--gpus", 16, "--", "true")
        self.wait_state(waits, "queued")
        until("why says so", lambda: "new fan" in self.daemon.muster("why", waits)[0])
        BED.run("scontrol", "update", "nodename=n[1-3]", "state=resume")
        self.wait_over(waits)

    def test_reserved_for_others_and_for_us(self):
        name = BED.run("scontrol", "create", "reservation", "starttime=now", "duration=60",
                       "nodes=n[3-4]", "users=root").split()[-1]
        try:
            until("they are not for everybody", lambda: {n: self.state(n) for n in self.nodes()} ==
                  {"n1": "open", "n2": "open", "n3": "unusable", "n4": "unusable"})
            self.assertIn("reserved", self.daemon.muster("nodes")[0])
            self.daemon.stop()
            self.daemon.config({**self.CONFIG, "slurm": {"partition": "main", "reservation": name}})
            self.daemon.start()
            until("they are for us", lambda: self.state("n4") == "open")
            job = self.submit("--gpus", 16, "--", "true")
            self.wait_over(job)
        finally:
            until("nobody is in it", lambda: not BED.jobs())
            BED.run("scontrol", "delete", f"reservationname={name}")

    def test_others_are_seen_and_left_alone(self):
        theirs = BED.run("sbatch", "--parsable", "-w", "n1", "-c", "12", "--mem=100000",
                         "--gres=gpu:6", "-o", "/dev/null", "--wrap", "sleep 300").strip()
        until("it runs", lambda: [j for j in BED.jobs()
                                  if j["id"] == theirs and j["state"] == "RUNNING"])
        self.daemon
        until("it is seen", lambda: self.nodes()["n1"].get("others", {}).get("gpus") == 6)
        job = self.submit("--gpus", 26, "--", "sh", "-c", GATE)
        self.wait_state(job, "running")
        where = self.daemon.job(job)["where"]
        self.assertIn("n1", where)
        waits = self.submit("--gpus", 1, "--", "true")
        self.wait_state(waits, "queued")
        BED.run("scancel", theirs)
        self.wait_over(waits)
        self.go()
        self.wait_over(job)


class Resizes(SlurmTest):
    """Slurm cannot resize a running job. The shim enforces a reduction. Growth needs a restart, and
    so does a reduction for which another job waits."""
    PROFILES = {"profiles": [{
        "name": "hungry", "ideal": {"cpus": 6, "mem_gb": 61.03515625, "speedup": 6},
        "matrix": {"cpus": [1, 3, 6], "mem_gb": [30, 61.03515625],
                   "speed": [[0.2, 0.2], [0.5, 0.5], [1, 1]]}}]}

    def setUp(self):
        super().setUp()
        BED.run("scontrol", "update", "nodename=n[2-4]", "state=drain", "reason=one is enough")
        self.daemon = self.daemon_with({
            "executor": "slurm", "slurm": {"partition": "main", "restart_after": "2s"},
            "scheduler": {"mechanism": "tune", "min_run": "0s"}, "profiles": "hungry.yaml",
            "profiling": "never"}, start=False)
        (self.daemon.home / "hungry.yaml").write_text(json.dumps(self.PROFILES))
        self.daemon.start()
        until("one server is left", lambda: [n["state"] for n in self.nodes().values()].count(
            "open") == 1)

    def cpus(self, job, lease):
        rows = self.ours(job, lease)
        return BED.resources(rows[0]["id"]).get("n1", (None,))[0] if rows else None

    def words(self, job):
        events = self.daemon.get("/v1/events?limit=1000")["events"]
        return " ".join(event["words"] for event in events
                        if event.get("job") == job)

    def test_less_that_another_waits_for_and_more_again(self):
        hungry = self.submit("--gpus", 4, "--model", "hungry", "--", "sh", "-c", GATE)
        self.wait_state(hungry, "running")
        self.assertEqual(self.cpus(hungry, 1), 24)
        plain = self.submit("--gpus", 4, "--", "sh", "-c", GATE.replace("go", "end"))
        self.wait_state(plain, "running")
        until("the hungry one runs again", lambda: self.daemon.job(hungry)["state"] == "running"
              and self.daemon.job(hungry)["leases_used"] == 2)
        self.assertEqual(self.cpus(hungry, 2), 12)
        self.assertEqual(self.cpus(plain, 1), 12)
        self.assertIn("Slurm cannot shrink a running job", self.words(hungry))
        (self.daemon.work / "end").touch()
        self.wait_over(plain)
        until("it has been restarted with more", lambda: self.cpus(hungry, 3) == 24)
        self.assertIn("Slurm cannot enlarge a running job", self.words(hungry))
        self.go()
        self.wait_over(hungry)


class BadSite(SlurmTest):
    """One clear message; the manager keeps running; jobs wait with this reason and resume later."""

    def waits_for(self, words, config=None, as_user=None):
        self.daemon = self.daemon_with({**self.CONFIG, **(config or {})}, as_user)
        job = self.submit("--", "true")
        until(lambda: f"{words}: {self.daemon.muster('why', job)[0]}",
              lambda: words in self.daemon.muster("why", job)[0].splitlines()[0])
        self.assertEqual(self.daemon.job(job)["state"], "queued")
        until("the log says so", lambda: words in self.daemon.log())
        self.assertIn(words, self.daemon.muster("nodes")[0])
        return job

    def test_no_controller_and_then_one(self):
        BED.tool("kill-ctld")
        try:
            job = self.waits_for("Slurm does not answer")
        finally:
            BED.tool("start-ctld")
        self.wait_over(job)
        self.assertEqual(sorted(self.nodes()), ["n1", "n2", "n3", "n4"])

    def test_no_such_partition(self):
        self.waits_for("Slurm's partition 'gold' does not exist", {"slurm": {"partition": "gold"}})

    def test_no_gpus(self):
        before = os.environ["SLURM_CONF"]
        other = slurm_bed.Bed(nodes=1, gpus=0)
        other.up()
        try:
            self.waits_for("has no nodes with GPUs")
            self.daemon.stop()
        finally:
            other.down()
            os.environ["SLURM_CONF"] = before

    def test_no_right_to_submit(self):
        BED.run("scontrol", "update", "partitionname=main", "rootonly=yes")
        try:
            self.daemon = self.daemon_with(self.CONFIG, as_user=65534)
            first = self.submit("--", "true")
            until("it says so", lambda: "rejects" in self.daemon.muster("why", first)[0])
            until("nothing is started any more", lambda: {node["state"] for node in
                  self.nodes().values()} == {"unusable"})
            later = self.submit("--", "true")
            until("so does another", lambda: "Slurm rejects every job" in
                  self.daemon.muster("why", later)[0].splitlines()[0])
        finally:
            BED.run("scontrol", "update", "partitionname=main", "rootonly=no")
        self.wait_over(first)
        self.wait_over(later)
        self.assertIn("the user of the manager", self.daemon.muster("nodes")[0])

    def test_commands_that_hang(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-hang-"))
        before = os.environ["PATH"]
        for name in ("squeue", "sinfo"):
            (folder / name).write_text("#!/bin/sh\nexec sleep 1000\n")
            (folder / name).chmod(0o755)
        os.environ["PATH"] = f"{folder}:{before}"
        try:
            job = self.waits_for("Slurm does not answer",
                                 {"slurm": {"partition": "main", "timeout": "1s"}})
            for name in ("squeue", "sinfo"):
                (folder / name).unlink()
            self.wait_over(job)
        finally:
            os.environ["PATH"] = before
            shutil.rmtree(folder)


if __name__ == "__main__":
    live_daemon.main(__doc__)
