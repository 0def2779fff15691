#!/usr/bin/env python3
"""Changes by administrators of a Slurm while Muster runs on it: partitions that are closed, shrunk
or limited, removed nodes, and a configuration without a partition.

    tests/slurm_sites_test.py MUSTER TRAINER [TEST...]
"""

import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
import slurm_bed  # noqa: E402
from live_daemon import GATE, LiveTest, until  # noqa: E402

BED = slurm_bed.Bed(nodes=4, conf="PartitionName=other Nodes=n4 State=UP")


def setUpModule():
    BED.up()


def tearDownModule():
    BED.down()


class SiteTest(LiveTest):
    CONFIG = {"executor": "slurm", "slurm": {"partition": "main"}}

    def tearDown(self):
        super().tearDown()
        BED.run("scancel", "--user=root")
        BED.run("scontrol", "update", "partitionname=main", "state=up", "nodes=n[1-4]",
                "maxtime=unlimited")
        until("the bed is empty", lambda: not BED.jobs())

    def nodes(self):
        return {node["name"]: node for node in self.daemon.get("/v1/nodes")["nodes"]}

    def test_a_server_leaves_with_something_running_on_it(self):
        stays = self.submit("--gpus", 1, "--", "sh", "-c", GATE)
        where = self.wait_state(stays, "running")["where"].split(":")[0]
        left = [node for node in ("n1", "n2", "n3", "n4") if node != where]
        BED.run("scontrol", "update", "partitionname=main", f"nodes={','.join(left)}")
        until("it takes no jobs", lambda: self.nodes()[where]["state"] == "unusable")
        self.assertIn("no longer in", self.daemon.muster("nodes")[0])
        others = [self.submit("--gpus", 8, "--", "true") for _ in range(4)]
        for job in others:
            done = self.wait_over(job)
            self.assertEqual(done["leases_used"], 1)
            self.assertNotIn(where, done["leases"][0]["where"])
        self.go()
        self.wait_over(stays)
        until("it is gone", lambda: where not in self.nodes())

    def test_a_partition_that_is_closed_for_a_while(self):
        self.daemon
        BED.run("scontrol", "update", "partitionname=main", "state=inactive")
        jobs = [self.submit("--gpus", 8, "--", "true") for _ in range(6)]
        until("why says so", lambda: "Slurm rejects every job" in
              self.daemon.muster("why", jobs[-1])[0])
        self.assertEqual({self.daemon.job(job)["state"] for job in jobs} - {"queued", "starting"},
                         set())
        BED.run("scontrol", "update", "partitionname=main", "state=up")
        for job in jobs:
            self.wait_over(job)

    def test_what_slurm_will_never_start_fails_and_says_why(self):
        BED.run("scontrol", "update", "partitionname=main", "maxtime=10")
        job = self.submit("--time-limit", "1h", "--", "true")
        self.assertIn("PartitionTimeLimit", self.wait_over(job, "failed")["why"])

    def test_the_default_partition_alone_if_none_is_named(self):
        BED.run("scontrol", "update", "partitionname=main", "nodes=n[1-3]")
        self.daemon = self.daemon_with({"executor": "slurm"})
        self.assertEqual(sorted(self.nodes()), ["n1", "n2", "n3"])
        self.wait_over(self.submit("--gpus", 24, "--", "true"))
        time.sleep(3)  # Also after some polls of Slurm.
        self.assertEqual(sorted(self.nodes()), ["n1", "n2", "n3"])

    def test_everybody_may_submit_and_runs_as_himself(self):
        self.daemon = self.daemon_with(self.CONFIG)
        for folder in (self.daemon.base, self.daemon.work):
            folder.chmod(0o755)
        program = self.daemon.copy_programs()
        said = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "submit",
             "--json", "--", "id", "-un"], cwd="/", text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**self.daemon.environment(), "HOME": "/"}, check=False)
        self.assertEqual(said.returncode, 0, said.stdout)
        job = json.loads(said.stdout)["id"]
        self.wait_over(job)
        self.assertEqual(self.output(job).strip(), "nobody")
        self.assertEqual(os.stat(self.daemon.record(f"j{job}.e1", "")).st_uid, 65534)


if __name__ == "__main__":
    live_daemon.main(__doc__)
