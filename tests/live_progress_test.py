#!/usr/bin/env python3
"""The live manager and the progress that jobs report: remaining times, the order of jobs based on
them, and the number of GPUs of elastic jobs.

    tests/live_progress_test.py MUSTER TRAINER [TEST...]
"""

import json
import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, Programs, until  # noqa: E402

# Reports a step every 20 ms until all steps are done or `go` exists. It stores the step in a file
# as a checkpoint. The write is atomic, because the job may be stopped at any time.
PACED = """
import json, os, sys, time
name, total = sys.argv[1], int(sys.argv[2])
step = int(open(name).read()) if os.path.exists(name) else 0
with open(os.environ["MUSTER_PROGRESS"], "a") as progress:
    while step < total and not os.path.exists("go"):
        time.sleep(0.02)
        step += 1
        progress.write(json.dumps({"step": step, "total": total}) + "\\n")
        progress.flush()
        with open(name + ".new", "w") as kept:
            kept.write(str(step))
        os.replace(name + ".new", name)
"""


class ProgressTest(LiveTest):
    def paced(self, name, total):
        return self.post_job([sys.executable, "-c", PACED, name, str(total)], name=name)

    def says(self, *lines, **request):
        """Submits a job that reports these lines and runs until `go` exists."""
        script = "".join(f"echo '{json.dumps(line)}' >> $MUSTER_PROGRESS\n" for line in lines)
        return self.post_job(["sh", "-c", script + live_daemon.GATE], **request)

    def check_past(self):
        """Checks that a replay makes the same decisions without the files of jobs."""
        self.assertTrue(self.daemon.json("sim", "--from-live", self.daemon.home)["equal"])
        self.daemon.muster("sim", "--from-live", self.daemon.home, "--policy", "fifo")

    def left(self, job):
        return self.daemon.job(job).get("remaining", {})

    def status(self, job):
        """Returns the lines of `muster status`, by label."""
        lines = self.daemon.muster("status", job)[0].splitlines()
        return {line.split()[0]: line.strip() for line in lines if line.strip()}


class Tells(ProgressTest):
    CONFIG = {"virtual_gpus": 4}

    def test_how_long_a_trainer_still_takes(self):
        steps = 500
        job = self.submit("--", Programs.trainer, "--steps", steps, "--load-ms", 10, "--loaders", 1,
                          "--report-every", 5)
        until("it can be told", lambda: "seconds" in self.left(job))
        text = self.status(job)["left"]
        self.assertRegex(text, rf"^left +about .+ \(.+ to .+\), based on steps: \d+ of {steps}$")
        told = []

        def over():
            left = self.left(job)
            if "seconds" in left:
                told.append((time.monotonic(), left))
            return self.daemon.job(job)["state"] == "done"
        until("it is over", over, every=0.2)
        end = time.monotonic()
        self.assertGreater(len(told), 3)
        inside = 0
        for at, left in told:
            self.assertEqual(left["by"], "steps")
            self.assertLessEqual(left["low"], left["seconds"])
            self.assertLessEqual(left["seconds"], left["high"])
            # On a busy machine the job may become slower, but only by a limited factor.
            self.assertLess(left["seconds"], 5 * (end - at) + 5)
            self.assertGreater(left["seconds"], (end - at) / 5 - 5)
            inside += left["low"] - 1 <= end - at <= left["high"] + 1
        print(f"{inside} of {len(told)} within the band", file=sys.stderr)
        self.assertNotIn("remaining", self.daemon.job(job))

    def test_by_its_loss(self):
        lines = [{"epoch": e, "loss": 5 / (e + 5) + 0.3} for e in range(15)]
        script = "".join(f"echo '{json.dumps(line)}' >> $MUSTER_PROGRESS; sleep 0.3\n"
                         for line in lines)
        job = self.post_job(["sh", "-c", script + live_daemon.GATE])
        until("it can be told", lambda: self.left(job).get("by") == "loss")
        self.assertRegex(self.status(job)["left"], r"based on its loss, which converges after about \d+ epochs")
        self.go()
        self.wait_over(job)

    def test_what_it_cannot_tell_and_what_a_cache_holds(self):
        job = self.says({"step": 3, "cache": {"hits": 61, "misses": 39, "held_bytes": 4e9,
                                              "budget_bytes": 5e9, "dataset_bytes": 1e10}})
        until("it has said so", lambda: "progress" in self.daemon.job(job))
        said = self.status(job)
        self.assertRegex(said["left"], "^left +no forecast: the job has reported no loss and no total$")
        self.assertRegex(said["cache"], "^cache +4.0 of 10.0 GB held, 61% of reads from memory$")
        silent = self.post_job(["sh", "-c", live_daemon.GATE])
        self.wait_state(silent, "running")
        self.assertNotIn("left", self.status(silent))
        self.go()
        self.wait_over(job)


class GoesFirst(ProgressTest):
    """Jobs without any data except their reports. The initial estimate of each is one hour."""
    CONFIG = {"virtual_gpus": 1,
              "scheduler": {"policy": "srtf", "estimates": "progress", "min_run": "0s"}}

    def test_who_has_less_left_by_its_own_word(self):
        # The hour is work at the reference share; on a small machine it takes three or more.
        long = self.paced("long", 5_000_000)  # About 30 hours.
        until("it is known to be long", lambda: self.left(long).get("seconds", 0) > 15 * 3600)
        longer = self.paced("longer", 50_000_000)  # About 300 hours.
        until("the longer one has run and been stopped", lambda:
              self.daemon.job(longer)["leases_used"] > 0 and
              self.daemon.job(longer)["state"] == "queued")
        self.wait_state(long, "running")
        self.assertIn("preempted", self.kinds(longer))
        short = self.paced("short", 250)  # Five seconds.
        self.wait_over(short)
        self.assertEqual(self.daemon.job(short)["leases_used"], 1)
        # The reported progress survives a restart of the manager.
        self.wait_state(long, "running")
        leases = self.daemon.job(longer)["leases_used"]
        self.daemon.kill()
        self.daemon.start()
        until("it says more", lambda: self.left(long).get("seconds", 0) > 3600)
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.daemon.job(long)["state"], "running")
        self.assertEqual(self.daemon.job(longer)["state"], "queued")
        self.assertEqual(self.daemon.job(longer)["leases_used"], leases)
        self.go()
        self.wait_over(long)
        self.wait_over(longer)
        self.check_past()


class Elastic(ProgressTest):
    """Optimus resizes a job by its progress, and the job resumes from its checkpoint."""
    CONFIG = {"virtual_gpus": 4, "scheduler": {"preset": "optimus", "round": "1s", "min_run": "0s",
                                               "estimates": "progress"}}

    def gpus(self, job):
        """Returns the number of GPUs, from a text such as "vm:0-1+3"."""
        view = self.daemon.job(job)
        if view["state"] != "running":
            return 0
        count = 0
        for part in view["where"].split(":")[1].split("+"):
            ends = part.split("-")
            count += int(ends[-1]) - int(ends[0]) + 1
        return count

    def steps(self, job, lease):
        text = self.daemon.record(f"j{job}.e{lease}", "progress.jsonl").read_text()
        said = [json.loads(line) for line in text.splitlines()]
        return [each["step"] for each in said if "loss" in each]

    def test_shrinks_and_grows(self):
        ckpt = str(self.daemon.work / "elastic.ckpt")
        job = self.post_job([Programs.trainer, "--steps", "10000000", "--load-ms", "4",
                             "--report-every", "1", "--checkpoint", ckpt], gpus=1, fewest=1, most=4)
        until("it has all GPUs", lambda: self.gpus(job) == 4)
        until("it says more", lambda: "progress" in self.daemon.job(job))
        other = self.post_job(["sh", "-c", live_daemon.GATE], gpus=2)  # It reports no progress.
        self.wait_state(other, "running")
        until("it goes on with fewer", lambda: self.gpus(job) == 2)
        # Jobs keep running when the manager is killed or stopped.
        for end in (self.daemon.kill, self.daemon.stop):
            time.sleep(1)
            leases = self.daemon.job(job)["leases_used"]
            end()
            self.daemon.start()
            self.assertEqual(self.gpus(job), 2)
            self.assertEqual(self.daemon.job(job)["leases_used"], leases)
        self.go()
        self.wait_over(other)
        until("it has them again", lambda: self.gpus(job) == 4)
        until("it goes on", lambda: self.daemon.json("status", job)["progress"]["step"] > 0)
        self.daemon.muster("why", job)
        waiting = self.post_job(["true"], gpus=1, hold=True)
        self.daemon.muster("why", waiting)
        self.daemon.muster("cancel", job)
        self.wait_state(job, "cancelled")
        used = self.daemon.job(job)["leases_used"]
        self.assertGreaterEqual(used, 3)
        every = [step for lease in range(1, used + 1) for step in self.steps(job, lease)]
        self.assertEqual(every, list(range(1, len(every) + 1)))
        self.check_past()


if __name__ == "__main__":
    live_daemon.main(__doc__)
