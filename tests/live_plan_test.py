#!/usr/bin/env python3
"""Predicted starts of waiting jobs and of planned jobs, from a live manager with real jobs.

    tests/live_plan_test.py MUSTER TRAINER [TEST...]
"""

import json
import re
import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import GATE  # noqa: E402
from live_why import LONG, WhyTest  # noqa: E402


class When(WhyTest):
    def test_a_band_in_order(self):
        self.running(8, estimate="10m")
        for gpus in (1, 4, 8):
            self.waiting(gpus)
        now = time.time()
        for job in (2, 3, 4):
            answer = self.daemon.json("eta", job)
            eta = answer["eta"]
            self.assertLessEqual(eta["soonest"], eta["likely"])
            if eta["latest"] is not None:
                self.assertLessEqual(eta["likely"], eta["latest"])
            self.assertGreaterEqual(eta["soonest"], now - 1)
            self.assertEqual(eta["holds"], 0.8)
            self.assertRegex(self.first_line("eta", job), rf"^job {job} starts in about ")
        # Not tested: a job that cannot start within the simulated 60 days. Its text has a number of
        # days that means "never".

    def test_what_was_like_it_tells_when(self):
        for _ in range(6):
            self.wait_over(self.post_job(["sleep", "1"], name="short", gpus=8))
        self.post_job(["sh", "-c", GATE], name="short", gpus=8)
        job = self.post_job(["sleep", "1"], name="short", gpus=8)
        answer = self.daemon.get(f"/v1/jobs/{job}/why")
        self.assertLess(answer["eta"]["likely"] - time.time(), 60, answer)
        self.go()
        self.wait_over(job)


class Plans(WhyTest):
    def jobs(self):
        return self.daemon.get("/v1/jobs?state=all")["total"]

    def test_now_later_never_or_wrong(self):
        line = self.first_line("plan", "--gpus", 4, "--", *LONG)
        self.assertEqual(line, "would start now on left, with 4 GPUs, 4 CPUs and 1 GiB")
        self.running(6)
        line = self.first_line("plan", "--gpus", 4, "--", *LONG, status=3)
        self.assertRegex(line, "^would start in about ")
        line = self.first_line("plan", "--gpus", 9, "--", *LONG, status=4)
        self.assertEqual(line, "can never run: gpus: needs 9 GPUs, the cluster has 8")
        for words in (("--gpus", "x", "--", "true"), ("--gpus", 0, "--", "true"), ("--gpus", 1),
                      ("--try", "gpus", "--", "true"), ("--try", "gpus=x", "--", "true")):
            self.first_line("plan", *words, status=2)
        self.assertIn("colour", self.first_line("plan", "--try", "colour=red", "--", "true",
                                                status=2))
        self.assertEqual(self.jobs(), 1)

    def test_what_it_says_comes_true(self):
        self.running(6)
        plan = self.daemon.json("plan", "--gpus", 2, "--", *LONG)
        self.assertEqual((plan["verdict"], plan["where"], plan["gpus"]), ("now", "right", 2))
        job = self.running(2)
        self.assertEqual(self.daemon.job(job)["where"].split(":")[0], "right")
        plan = self.daemon.json("plan", "--gpus", 2, "--", *LONG, status=3)
        self.assertEqual((plan["verdict"], plan["constraint"]), ("queue", "gpus"))
        answer = self.why(self.waiting(2))
        self.assertEqual((answer["constraint"], answer["facts"]["free"]), ("gpus", 0))

    def test_the_same_with_other_fields(self):
        self.running(6)
        words = ("--gpus", 4, "--try", "gpus=2", "--try", "gpus=9", "--", *LONG)
        rows = self.daemon.muster("plan", *words, status=3)[0].splitlines()
        self.assertEqual(rows[0].split(), ["WITH", "VERDICT"])
        self.assertEqual([re.split(r"\s{2,}", row)[:2] for row in rows[2:]],
                         [["as given", "queue"], ["gpus=2", "now"], ["gpus=9", "never"]])
        lines = self.daemon.muster("plan", "--json", *words, status=3)[0].splitlines()
        answers = [json.loads(line) for line in lines]
        self.assertEqual([(answer.get("try"), answer["verdict"]) for answer in answers],
                         [(None, "queue"), ("gpus=2", "now"), ("gpus=9", "never")])
        self.assertEqual(self.jobs(), 1)

    def test_submit_plan_submits_nothing(self):
        line = self.first_line("submit", "--plan", "--gpus", 4, "--", *LONG)
        self.assertRegex(line, "^would start now on ")
        self.first_line("submit", "--plan", "--gpus", 9, "--", *LONG, status=4)
        self.assertEqual(self.jobs(), 0)
        self.assertEqual(self.running(1), 1)  # The plan did not use up an id.


if __name__ == "__main__":
    live_daemon.main(__doc__)
