#!/usr/bin/env python3
"""The event history of a job: causes of waits, resources of starts, reasons of stops. It is
complete and in order, without duplicates, also after the manager was stopped or killed.

    tests/live_story_test.py MUSTER TRAINER [TEST...]
"""

import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, two_nodes  # noqa: E402

WIDEST = 120
TOLD = ("submitted", "waits", "starting", "started", "preempting", "preempted", "done")
TWO = two_nodes(2, 1)


class StoryTest(LiveTest):
    def story(self, job):
        """Returns kinds and texts. Checks the order, and that the program prints the same."""
        events = self.daemon.get(f"/v1/jobs/{job}/events")["events"]
        numbers = [event["number"] for event in events]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual({event["job"] for event in events}, {job})
        lines = self.daemon.muster("events", "--job", job)[0].splitlines()
        self.assertEqual(len(lines), len(events))
        for line, event in zip(lines, events):
            self.assertTrue(line.endswith(event["words"]), (line, event))
            if event["kind"] in TOLD:
                self.assertLess(len(line), WIDEST, line)
        return [(event["kind"], event["words"]) for event in events]

    def kinds_of(self, story):
        return [kind for kind, _ in story]


class Restarts(StoryTest):
    CONFIG = TWO

    def test_the_whole_story_after_a_clean_stop_and_after_a_kill(self):
        self.daemon.muster("drain", "right")
        holder = self.post_job(["sleep", "300"], gpus=1)
        self.wait_state(holder, "running")
        job = self.post_job(["sh", "-c", "sleep 2; exit 3"], gpus=2, retries=0)
        waits = ("waits", "needs 2 GPUs, 1 of 4 is free, 2 on unschedulable nodes: right")
        self.assertEqual(self.story(job)[1:], [waits])
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertEqual(self.story(job)[1:], [waits])
        self.daemon.kill()
        self.daemon.start()
        time.sleep(1.2)
        self.daemon.muster("undrain", "right")
        self.wait_state(job, "running")
        self.daemon.kill()
        self.daemon.start()
        self.wait_over(job, "failed")
        story = self.story(job)
        self.assertEqual(self.kinds_of(story), ["submitted", "waits", "starting", "started",
                                                "failed-attempt", "failed"])
        self.assertRegex(story[2][1],
                         r"^gets right:0-1 with 2 CPUs, 1 GiB by fifo after \d+ s for GPUs$")
        for end in (self.daemon.stop, self.daemon.kill):
            end()
            self.daemon.start()
            self.assertEqual(self.story(job), story)
        followed = self.daemon.muster("events", "-f", "--job", job)[0].splitlines()
        self.assertEqual(len(followed), len(story))

    def test_events_of_all_are_there_after_a_clean_stop(self):
        self.daemon.muster("drain", "left")
        job = self.post_job(["true"])
        self.wait_over(job)
        before = self.daemon.get("/v1/events")["events"]
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.daemon.get("/v1/events")["events"], before)


class Preempted(StoryTest):
    CONFIG = {"virtual_gpus": 2, "grace": "1s",
              "scheduler": {"policy": "srtf", "estimates": "user", "min_run": "0s"},
              "tenants": {"list": [{"name": "vision", "quota": 2}, {"name": "guest"}]}}

    def test_for_whom_it_stops(self):
        job = self.post_job(["sleep", "3"], gpus=2, tenant="guest", estimate="1h")
        self.wait_state(job, "running")
        owner = self.post_job(["sleep", "0.3"], gpus=2, tenant="vision", estimate="1h")
        self.wait_over(owner)
        self.wait_over(job)
        story = self.story(job)
        self.assertEqual(self.kinds_of(story),
                         ["submitted", "starting", "started", "preempting", "preempted", "waits",
                          "starting", "started", "done"])
        self.assertEqual(story[3][1], f"stopping for job {owner} of vision, which reclaims "
                                      "2 lent GPUs")
        self.assertIn(("waits", f"gets {self.daemon.get('/v1/nodes')['nodes'][0]['name']}:0-1 "
                                f"when job {job} of guest has stopped"), self.story(owner))


if __name__ == "__main__":
    live_daemon.main(__doc__)
