#!/usr/bin/env python3
"""Quarantines by reported evidence (log text of jobs) and by measured evidence (a fake NVML).

    tests/live_evidence_test.py MUSTER TRAINER [TEST...]
"""

import contextlib
import http.client
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import PATIENCE, LiveTest, until  # noqa: E402

ECC = "echo 'RuntimeError: CUDA error: uncorrectable ECC error encountered'; exit 1"


class Evidence(LiveTest):
    """Three users of two tenants, and three nodes."""

    USERS = {"ann": "vision", "amy": "vision", "carl": "language"}

    def setUp(self):
        super().setUp()
        self.daemon = self.shared_with(start=False)
        names = ["left", "middle", "right"]
        self.daemon.config({
            "jobs_share_account": "accepted",
            "nodes": [{"name": name, "gpus": 1, "cpus": 1, "mem": 0.5} for name in names],
            "jobs_share_account": "accepted", "cgroup": "none", "grace": "2s",
            "tenants": {"list": [{"name": "vision", "quota": 1}, {"name": "language", "quota": 1}]},
            "listen": {"tcp": "127.0.0.1:0", "tokens": "tokens"},
            "quarantine": {"period": "1h", "test": ["true"]}})
        self.tokens = {user: self.daemon.muster("token", user)[0].strip() for user in self.USERS}
        self.daemon.start()

    def send(self, user, text):
        port = int(re.findall(r" and http://127\.0\.0\.1:(\d+)/$", self.daemon.log(), re.M)[-1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/jobs", json.dumps(
                {"command": ["sh", "-c", text], "cwd": str(self.daemon.work),
                 "tenant": self.USERS[user]}),
                {"Authorization": "Bearer " + self.tokens[user],
                 "Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())["id"]

    def report(self, user):
        """A job of the user prints an ECC error on the first node and fails; it runs elsewhere."""
        job = self.send(user, f"if [ $MUSTER_NODE = left ]; then {ECC}; fi")
        return [lease["where"] for lease in self.wait_over(job)["leases"]]

    def states(self):
        return {node["name"]: node["state"] for node in self.daemon.get("/v1/nodes")["nodes"]}

    def test_log_text_needs_two_users_of_two_tenants(self):
        for _ in range(10):
            self.assertEqual(self.report("ann"), ["left:0", "middle:0"])
        self.report("amy")
        self.assertEqual(set(self.states().values()), {"open"}, "one tenant")
        self.assertEqual(self.report("carl"), ["left:0", "middle:0"])
        self.assertEqual(self.states(),
                         {"left": "quarantined", "middle": "open", "right": "open"})
        self.assertIn("reported by 3 users of 2 tenants: gpu-ecc-error",
                      self.daemon.muster("nodes")[0])
        fleet = self.daemon.get("/v1/fleet")["nodes"]
        self.assertIn("reported by 3 users of 2 tenants", json.dumps(fleet))

    def test_it_never_closes_the_last_node(self):
        for node in ("middle", "right"):
            self.daemon.muster("drain", node)
        for user in (*self.USERS, *self.USERS):
            job = self.send(user, ECC)
            self.wait_over(job, "failed")
        self.assertEqual(self.states()["left"], "open")


class MeasuredEvidence(LiveTest):
    """A fake NVML library reports Xids, and the node test fails if the file `ill` exists."""

    def setUp(self):
        super().setUp()
        self.daemon = self.daemon_with(start=False)
        library = pathlib.Path(live_daemon.Programs.muster).parents[1] / "src/exec/libfake_nvml.so"
        (self.daemon.base / "libnvidia-ml.so.1").symlink_to(library)
        self.events = self.daemon.work / "events"
        self.events.touch()
        self.ill = self.daemon.work / "ill"
        self.daemon.config({"cgroup": "none", "grace": "2s", "quarantine": {
            "period": "1h", "test": ["sh", "-c", f"test ! -e {self.ill}"]}})
        environment = self.daemon.environment
        self.daemon.environment = lambda **more: environment(**{
            "LD_LIBRARY_PATH": str(self.daemon.base), "FAKE_NVML_EVENTS": str(self.events), **more})
        self.daemon.start()

    def node(self):
        return self.daemon.get("/v1/nodes")["nodes"][0]

    def kinds(self):
        return [event["kind"] for event in self.daemon.get("/v1/events?limit=1000")["events"]]

    def xid(self, gpu, number):
        with open(self.events, "a", encoding="ascii") as out:
            out.write(f"xid {gpu} {number}\n")

    def test_two_events_close_the_last_node(self):
        self.xid(0, 31)  # A program can cause it.
        self.xid(0, 79)
        until("its test has passed", lambda: "node-test-passed" in self.kinds())
        self.assertEqual(self.node()["state"], "open")
        self.xid(1, 79)
        until("it is closed", lambda: self.node()["state"] == "quarantined")
        self.assertEqual(self.node()["quarantine"]["evidence"], "measured")
        self.assertRegex(self.daemon.muster("nodes")[0], "measured: Xid 79 twice within")
        self.daemon.kill()
        self.daemon.start()
        self.assertRegex(self.node()["quarantine"]["why"], "^measured: Xid 79 twice within")

    def test_an_event_and_a_failed_test_close_it(self):
        self.ill.touch()
        self.xid(0, 48)
        until("it is closed", lambda: self.node()["state"] == "quarantined")
        self.assertRegex(self.node()["quarantine"]["why"],
                         "^measured: Xid 48, failed node test within")


if __name__ == "__main__":
    live_daemon.main(__doc__)
