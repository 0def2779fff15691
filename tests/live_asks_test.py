#!/usr/bin/env python3
"""Real jobs that request CPU, memory or few nodes. They start with at least these resources, wait
while there are not enough, and are rejected with numbers if there never will be enough.

    tests/live_asks_test.py MUSTER TRAINER [TEST...]
"""

import json
import sys

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, two_nodes  # noqa: E402

# The share per GPU is one CPU and one GiB.
TWO = two_nodes(4, 4)
LONG = ["sleep", "300"]


class AsksTest(LiveTest):
    CONFIG = TWO

    def submitted(self, *words):
        return self.daemon.json("submit", *words, "--", *LONG)["id"]

    def told(self, job):
        """Returns the limits in the spec of the shim of its first lease."""
        return json.loads(self.daemon.record(f"j{job}.e1", "spec.json").read_text())

    def ways(self, job):
        return {way["kind"]: way for way in self.daemon.get(f"/v1/jobs/{job}/why")["ways"]}

    def refused(self, *words, status=2):
        return self.daemon.muster("submit", *words, "--", *LONG, status=status)[1].strip()

    def test_a_job_gets_the_memory_it_asks_for(self):
        small = self.submitted()
        large = self.submitted("--mem", "2G", "--cpus", "1.5")
        self.wait_state(small, "running")
        self.wait_state(large, "running")
        self.assertEqual(self.told(small)["mem_mib"], 1024)
        self.assertEqual(self.told(large)["mem_mib"], 2048)
        self.assertEqual(self.told(large)["cpu_milli"], 1500)
        self.assertEqual(self.daemon.job(large)["request"]["mem"], "2G")

    def test_it_survives_a_restart_with_it(self):
        large = self.submitted("--mem", "3G")
        self.wait_state(large, "running")
        waits = self.submitted("--gpus", "2", "--mem", "7G", "--spread", "2")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.daemon.job(large)["state"], "running")
        self.assertEqual(self.daemon.job(waits)["request"]["mem"], "7G")
        self.assertEqual(self.daemon.job(waits)["state"], "queued")
        self.daemon.muster("cancel", str(large))
        self.wait_state(waits, "running")

    def test_what_never_fits_is_refused_with_the_numbers(self):
        self.assertIn("mem: needs 900 GiB of memory, the largest node has 4 GiB",
                      self.refused("--mem", "900G", status=1))
        self.assertIn("cpus: needs 5 CPUs, the largest node has 4 CPUs",
                      self.refused("--cpus", "5", status=1))
        self.assertIn("spread: needs 8 GPUs on at most 1 node, the largest has 4",
                      self.refused("--gpus", "8", "--spread", "1", status=1))
        self.assertIn("--mem: no unit: '64'; write 64G or 64M", self.refused("--mem", "64"))
        self.assertIn("cpus: not between 0.001", self.refused("--cpus", "-1"))
        self.assertIn("spread: not between 1", self.refused("--spread", "0"))

    def test_it_waits_for_memory_and_says_so(self):
        for _ in range(2):
            self.wait_state(self.submitted("--mem", "3G"), "running")
        waits = self.submitted("--mem", "2G")
        why = self.daemon.get(f"/v1/jobs/{waits}/why")
        self.assertEqual(why["constraint"], "memory")
        self.assertEqual(why["why"], "waits for memory: it needs 2 GiB with 1 GPU; one node has "
                         "at most 1 GiB free")
        way = self.ways(waits)["less-memory"]
        self.assertEqual(way["says"], "if resubmitted with 1 GiB of memory, it would start now")
        self.daemon.muster("cancel", str(waits))
        self.wait_state(self.submitted("--mem", "1G"), "running")

    def test_a_wider_spread_and_fewer_cpus_are_ways_out(self):
        for _ in range(2):
            self.wait_state(self.submitted("--gpus", "3"), "running")
        narrow = self.submitted("--gpus", "2", "--spread", "1")
        self.assertEqual(self.ways(narrow)["wider-spread"]["spread"], 2)
        self.daemon.muster("cancel", str(narrow))
        hungry = self.submitted("--cpus", "2")
        self.assertEqual(self.daemon.get(f"/v1/jobs/{hungry}/why")["constraint"], "cpus")
        self.assertEqual(self.ways(hungry)["fewer-cpus"]["cpus"], 1)

    def test_plan_tries_a_spread(self):
        out, _ = self.daemon.muster("plan", "--gpus", "8", "--spread", "1", "--try",
                                    "gpus=8,spread=2", "--try", "mem=9G", "--", *LONG, status=4)
        self.assertIn("needs 8 GPUs on at most 1 node, the largest has 4", out)
        self.assertRegex(out, r"gpus=8,spread=2 +now +would start now on left")


if __name__ == "__main__":
    live_daemon.main(__doc__)
