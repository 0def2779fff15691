#!/usr/bin/env python3
"""Muster on a real Slurm with four nodes, with each part killed at a critical moment. Each job ends
as specified, two copies of a rank can never write, nothing remains in either system, and external
jobs are not touched.

    tests/slurm_faults_test.py MUSTER TRAINER [TEST...]

With MUSTER_LONG=1 all tests repeat, and Slurm's controller is down for a minute.
"""

import os
import re
import signal
import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
from live_daemon import main, until  # noqa: E402
from slurm_faults import LONG, FaultTest, FaultyBed  # noqa: E402

TIMES = 8 if LONG else 1
BED = FaultyBed(nodes=4, slurmd_timeout=5, kill_wait=2)


def setUpModule():
    BED.up()


def tearDownModule():
    BED.down()


class Fault(FaultTest):
    bed = BED


class ControllerTest(Fault):
    """slurmctld loses what it has just acknowledged, because it saves its state later."""

    def test_a_submit_is_lost_and_its_number_used_again(self):
        done = 0
        for _ in range(10 * TIMES):  # Sometimes it is saved in time.
            done += self.lose_a_submit()
            if done == TIMES:
                return
        self.fail("Slurm loses nothing")

    def lose_a_submit(self):
        """Returns whether the job id was reused by an external job."""
        stranger = self.daemon.base / "stranger"
        # Earlier ids may also be free again.
        self.daemon.hook("after", "sbatch", f"""{BED.crash()}
            number=0; while [ $number -lt $out ]; do
              number=$(sbatch --parsable -H -o /dev/null --comment=mine --wrap 'sleep 300')
            done
            echo $out $number > {stranger}.new; mv {stranger}.new {stranger}""")
        job = self.work()
        until("a stranger has come", stranger.exists)
        lost, number = stranger.read_text().split()
        stranger.unlink()
        self.wait_over(job)
        self.assert_once(job)
        self.assertEqual(BED.row(number, "%T %r"), "PENDING JobHeldUser")
        BED.run("scancel", "--state=PENDING", "--me")
        self.assert_nothing_left()
        return number == lost

    def test_a_release_is_lost(self):
        for _ in range(TIMES):
            self.daemon.hook("after", "scontrol", BED.crash())
            job, gang, fails = self.work(), self.gang(), self.work(status=3, retries=1)
            self.wait_over(job)
            self.wait_over(gang)
            self.assert_once(job, gang)
            self.wait_over(fails, "failed")
            self.assertEqual(self.epochs(fails), [1, 2])
            self.assert_nothing_left()

    def test_a_cancel_is_undone(self):
        for _ in range(TIMES):
            BED.run("scontrol", "update", "PartitionName=main", "State=DOWN")
            job = self.work()
            until("it is released", lambda: "PartitionDown" in BED.run("squeue", "-h", "-o", "%r"))
            BED.wait_saved(f"j{job}.e1")
            self.daemon.hook("after", "scancel", BED.crash())  # It opens the partition again.
            self.daemon.muster("cancel", job)
            self.wait_over(job, "cancelled")
            until("the controller was killed", lambda: self.daemon.hooked("after", "scancel"))
            self.assert_nothing_left()
            self.assertEqual(self.epochs(job), [])

    def test_a_group_of_a_gang_is_refused(self):
        """The other groups wait for it, and no rank runs before all are there."""
        self.daemon.hook("before", "sbatch", "false")
        gang = self.work(gpus=12)  # 8 and 4 GPUs: one Slurm job each.
        self.wait_over(gang)
        self.assertTrue(self.daemon.hooked("before", "sbatch"))
        self.assert_once(gang)
        self.assert_nothing_left()

    def test_it_is_away_for_long(self):
        runs = [self.work(beats=1000), self.gang(beats=1000)]
        ends = [self.work(beats=100) for _ in range(3)]
        fails = self.work(beats=100, status=1, retries=0)
        for job in (*runs, *ends, fails):
            self.wait_beat(job, ranks=2 if job == runs[1] else 1)
        BED.wait_saved(*[f"j{job}.e1" for job in (*runs, *ends, fails)])
        BED.tool("kill-ctld")
        away = time.monotonic()
        cancelled = self.work(beats=1000)
        waits = [self.work() for _ in range(3)]
        for job in ends:
            self.wait_over(job)
        self.wait_over(fails, "failed")
        self.daemon.muster("cancel", cancelled)
        self.wait_over(cancelled, "cancelled")
        until("it was away for long", lambda: time.monotonic() - away > (60 if LONG else 12) and
              self.daemon.get("/v1/jobs?limit=100"))
        BED.tool("start-ctld")
        for job in waits:
            self.wait_over(job)
        (self.daemon.work / "go").touch()
        for job in runs:
            self.wait_over(job)
        self.assert_once(*runs, *ends, *waits, fails)
        self.assertEqual(self.epochs(cancelled), [])
        self.assert_nothing_left()


class NodeTest(Fault):
    """The slurmd of a node is killed, but jobs on the node keep running."""

    def nodes_of(self, job):
        return re.findall(r"\bn[1-4]\b", self.daemon.job(job)["where"])

    def test_a_moment(self):
        gang = self.gang(beats=1000)
        self.wait_beat(gang, ranks=2)
        node = self.nodes_of(gang)[1]
        BED.tool("kill-slurmd", node)
        seen = len(self.daemon.beats(gang))
        until("it goes on", lambda: len(self.daemon.beats(gang)) > seen + 20)
        BED.tool("start-slurmd", node)
        seen = len(self.daemon.beats(gang))
        until("it goes on", lambda: len(self.daemon.beats(gang)) > seen + 20)
        (self.daemon.work / "go").touch()
        self.wait_over(gang)
        self.assert_once(gang)
        self.assert_nothing_left()

    def test_for_long(self):
        gang = self.gang(beats=1000)
        other = self.work(beats=1000)
        self.wait_beat(gang, ranks=2)
        self.wait_beat(other)
        node = next(name for name in self.nodes_of(gang) if name not in self.nodes_of(other))
        BED.tool("kill-slurmd", node)
        until("Slurm gives the server up", lambda: "down" in BED.node_state(node))
        self.wait_beat(gang, since=2, ranks=2)
        self.assertNotIn(node, self.nodes_of(gang))
        epoch = max(self.epochs(gang))  # There may have been another start on this node.
        self.assertEqual(sorted(self.daemon.shims()), [f"j{gang}.e{epoch}", f"j{gang}.e{epoch}.n1",
                                                       f"j{other}.e1"])
        BED.tool("start-slurmd", node)
        until("it is back", lambda: "idle" in BED.node_state(node))
        wide = self.work(gpus=8)  # It fits only on this node.
        self.wait_beat(wide)
        self.assertEqual(self.nodes_of(wide), [node])
        (self.daemon.work / "go").touch()
        for job in (gang, other, wide):
            self.wait_over(job)
        self.assertEqual(self.epochs(gang), [1, epoch])
        self.assert_once(other, wide)
        self.assert_nothing_left()


class ManagerTest(Fault):
    """The manager is killed between two steps of a start."""

    def again(self, *jobs):
        self.daemon.wait_dead()
        self.daemon.start()
        for job in jobs:
            self.wait_over(job)
        self.assert_once(*jobs)
        self.assert_nothing_left()

    def test_between_two_steps(self):
        for _ in range(TIMES):
            for when, name in (("before", "sbatch"), ("after", "sbatch"),
                               ("before", "scontrol"), ("after", "scontrol")):
                with self.subTest(when=when, name=name):
                    self.daemon.hook(when, name, self.daemon.suicide)
                    # Two jobs are starting when it is killed.
                    self.again(self.gang(), self.work())

    def test_before_a_submit_that_comes_late(self):
        """The manager restarts and checks Slurm before an earlier submission takes effect."""
        go = self.daemon.base / "late"
        self.daemon.hook("before", "sbatch", f"{self.daemon.suicide}\n"
                         f"while [ ! -e {go} ]; do sleep 0.05; done")
        job = self.work(beats=30)
        self.daemon.wait_dead()
        self.daemon.start()
        self.wait_beat(job)
        go.touch()
        until("it has come", lambda: len([row for row in self.ours(live=False)
                                          if row["comment"].endswith(f":j{job}.e1:0")]) == 2)
        self.wait_over(job)
        self.assert_once(job)
        self.assert_nothing_left()

    def test_while_it_runs_and_when_it_has_ended(self):
        gang, job = self.gang(beats=1000), self.work(beats=1000)
        self.wait_beat(gang, ranks=2)
        self.wait_beat(job)
        os.kill(self.daemon.process.pid, signal.SIGSTOP)
        (self.daemon.work / f"go-{job}").touch()
        until("it has ended", self.daemon.record(f"j{job}.e1", "exit.json").exists)
        os.kill(self.daemon.process.pid, signal.SIGKILL)
        self.daemon.wait_dead()
        self.daemon.start()
        self.wait_over(job)
        self.assertEqual(self.daemon.job(gang)["state"], "running")
        (self.daemon.work / "go").touch()
        self.wait_over(gang)
        self.assert_once(gang, job)
        self.assert_nothing_left()


class StrangerTest(Fault):
    """External jobs on the same Slurm."""

    def test_they_cancel_ours(self):
        theirs = BED.stranger("-w", "n1", "--gres=gpu:1")
        for _ in range(TIMES):
            # Without retries: the cancellation by others must not count as a failure.
            job, gang = self.work(beats=1000, retries=0), self.gang(beats=1000, retries=0)
            self.wait_beat(job)
            self.wait_beat(gang, ranks=2)
            numbers = [row["id"] for row in self.ours()]
            self.assertEqual(len(numbers), 2)
            BED.run("scancel", *numbers)
            self.wait_beat(job, since=2)
            self.wait_beat(gang, since=2, ranks=2)
            (self.daemon.work / "go").touch()
            self.wait_over(job)
            self.wait_over(gang)
            self.assertEqual([self.epochs(job), self.epochs(gang)], [[1, 2], [1, 2]])
            self.assert_nothing_left()
            (self.daemon.work / "go").unlink()
        self.assertEqual(BED.row(theirs), "RUNNING")


if __name__ == "__main__":
    main(__doc__)
