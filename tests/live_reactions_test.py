#!/usr/bin/env python3
"""Reactions of the live manager to failures, with real jobs that fail.

    tests/live_reactions_test.py MUSTER TRAINER [TEST...]
"""

import contextlib
import http.client
import json
import os
import re
import signal
import sys

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import PATIENCE, LiveTest, until  # noqa: E402

TWO = {"nodes": [{"name": "left", "gpus": 1, "cpus": 1, "mem": 0.5},
                 {"name": "right", "gpus": 1, "cpus": 1, "mem": 0.5}],
       "cgroup": "none"}
# A node on which each job fails.
ILL = "if [ $MUSTER_NODE = left ]; then kill -SEGV $$; fi; echo fine on $MUSTER_NODE"


class Retries(LiveTest):
    CONFIG = TWO

    def words(self, job, kind):
        lines = self.daemon.muster("events", "--json", job)[0].splitlines()
        return [event["words"] for event in map(json.loads, lines) if event["kind"] == kind]

    def test_elsewhere_where_the_server_may_be_to_blame(self):
        job = self.post_job(["sh", "-c", ILL])
        done = self.wait_over(job)
        self.assertEqual([lease["where"] for lease in done["leases"]], ["left:0", "right:0"])
        self.assertEqual(self.words(job, "retried"),
                         ["invalid memory access on attempt 1; retried elsewhere, not on left: "
                          "possibly a fault of the node"])

    def test_what_follows_the_job_is_its_own_fault(self):
        job = self.post_job(["sh", "-c", "kill -SEGV $$"])
        why = self.wait_over(job, "failed")["why"]
        self.assertIn("not retried: it failed the same way on other nodes", why)
        self.assertEqual(self.daemon.job(job)["leases_used"], 2)

    def test_what_no_retry_can_fix_is_not_retried(self):
        job = self.post_job(["/no/such/program"])
        failed = self.wait_over(job, "failed")
        self.assertEqual(failed["leases_used"], 1)
        self.assertIn("not retried: no retry can fix it", failed["why"])
        self.assertIn("no retry can fix it", self.words(job, "failed")[0])

    def test_a_lost_lease_is_started_again_a_little_later(self):
        job = self.post_job(["sh", "-c", "[ $MUSTER_EPOCH -gt 2 ] || exec sleep 600"])
        for lease in (1, 2):
            until("it runs", lambda: self.daemon.job(job)["state"] == "running"
                  and self.daemon.job(job)["leases_used"] == lease)
            os.kill(self.daemon.shims()[f"j{job}.e{lease}"], signal.SIGKILL)
        self.wait_over(job)
        self.assertEqual(self.words(job, "lost"),
                         ["its processes were lost; retried in 1 s",
                          "its processes were lost; retried in 2 s"])


class Diagnoses(LiveTest):
    """Each kind of failure with a real job: the reason, the matching line and the reaction."""

    CONFIG = TWO

    def fails(self, program, reason, evidence, verdict, leases=1):
        job = self.post_job([sys.executable, "-c", program])
        failed = self.wait_over(job, "failed")
        lease = failed["leases"][-1]
        self.assertEqual(lease["reason"], reason, failed)
        self.assertIn(evidence, lease["evidence"])
        self.assertTrue(lease["signature"])
        self.assertEqual(failed["leases_used"], leases, failed)
        self.assertIn(verdict, failed["why"])
        return lease

    def test_a_missing_input(self):
        lease = self.fails("print('epoch 1')\nopen('/no/such/train.txt')", "incorrect-inputs",
                           "No such file or directory: '/no/such/train.txt'",
                           "not retried: no retry can fix it")
        self.assertGreater(lease["line"], 1)

    def test_a_syntax_error(self):
        self.fails("exec('for x in: pass')", "syntax-error", "SyntaxError", "no retry can fix it")

    def test_a_missing_module(self):
        self.fails("import no_such_module", "import-error", "No module named 'no_such_module'",
                   "no retry can fix it")

    def test_a_gpu_out_of_memory(self):
        self.fails("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')",
                   "gpu-out-of-memory", "CUDA out of memory", "no retry can fix it")

    def test_a_crash_is_tried_elsewhere(self):
        self.fails("import os; os.kill(os.getpid(), 11)", "invalid-memory-access", "",
                   "not retried: it failed the same way on other nodes", leases=2)

    def test_own_signatures_of_the_operator(self):
        self.daemon.stop()
        (self.daemon.home / "signatures.yaml").write_text(
            "signatures:\n"
            "  - id: our-licence\n"
            "    reason: permission-error\n"
            "    patterns: ['licence server says no']\n"
            "    says: the licence server refused\n")
        self.daemon.start()
        lease = self.fails("print('licence server says no'); raise SystemExit(3)",
                           "permission-error", "licence server says no", "no retry can fix it")
        self.assertEqual(lease["signature"], "our-licence")


class SignaturesDecide(LiveTest):
    """The manager's reaction to a job matches the output of `muster classify` for its log."""

    CONFIG = TWO

    def promised(self, line):
        log = self.daemon.work / "promised.log"
        log.write_text(line + "\n")
        return json.loads(self.daemon.muster("classify", "--json", str(log))[0])["reaction"]

    def did(self, program):
        """Runs a job and returns the name of the reaction, from the event about it."""
        job = self.post_job(["sh", "-c", program])
        until("it was reacted to", lambda: self.reaction(job) is not None, timeout=60)
        return self.reaction(job)

    def reaction(self, job):
        lines = self.daemon.muster("events", "--json", str(job))[0].splitlines()
        events = [(e["kind"], e["words"]) for e in map(json.loads, lines)]
        for kind, words in events:
            self.assertLess(len(words), 120, words)
            if kind == "failed":
                return "stop"
            if kind == "retried":
                return ("back-off" if "retried in 60 s" in words else
                        "retry-elsewhere" if "retried elsewhere" in words else "retry")
        return None

    def test_reactions_of_signatures(self):
        for line, reaction in (
                ("OSError: [Errno 116] Stale file handle", "back-off"),
                ("OSError: [Errno 5] Input/output error", "retry-elsewhere"),
                ("requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='h', port=443): "
                 "Read timed out. (read timeout=10)", "back-off"),
                ("OSError: [Errno 122] Disk quota exceeded", "stop"),
                ("RuntimeError: address already in use", "retry")):
            self.assertEqual(self.promised(line), reaction, line)
            self.assertEqual(self.did(f'echo "{line}"; exit 1'), reaction, line)

    def test_an_interrupt_is_not_retried(self):
        self.assertEqual(self.did("kill -INT $$"), "stop")

    def test_the_operators_own_reaction(self):
        self.daemon.stop()
        (self.daemon.home / "signatures.yaml").write_text(
            "signatures:\n"
            "  - id: our-licence\n"
            "    reason: permission-error\n"
            "    reaction: back-off\n"
            "    patterns: ['licence server says no']\n"
            "    says: the licence server had no seat left\n"
            "    advice: Run it at night.\n")
        self.daemon.start()
        job = self.post_job(["sh", "-c", "echo licence server says no; exit 1"])
        until("it waits", lambda: self.daemon.job(job)["state"] == "retrying")
        for verb in ("status", "why", "events"):
            text = self.daemon.muster(verb, str(job))[0]
            self.assertIn("the licence server had no seat left", text)
            self.assertIn("line 1: licence server says no", text)
            self.assertIn("Run it at night.", text)


class OutOfMemory(LiveTest):
    CONFIG = {"nodes": [{"name": "left", "gpus": 2, "cpus": 2, "mem": 0.2}]}
    # In steps, so that polling notices it before the machine runs out of memory.
    HUNGRY = ("import time\nx = []\nfor i in range(40):\n"
              "  x.append(bytearray(b'1') * (10 << 20)); time.sleep(0.05)\ntime.sleep(30)")

    def fails(self):
        job = self.post_job([sys.executable, "-c", self.HUNGRY])
        failed = self.wait_over(job, "failed")
        self.assertEqual(failed["leases"][-1]["reason"], "cpu-out-of-memory", failed)
        self.assertEqual(failed["leases_used"], 1)
        self.assertIn("exceeded its memory limit of 102 MiB (share of 1 of 2 GPUs)", failed["why"])
        self.assertIn("--mem", failed["advice"])
        self.assertIn("Request more with --mem", self.daemon.muster("status", str(job))[0])

    def test_by_its_control_group(self):
        notes = json.dumps(self.daemon.get("/v1/nodes"))
        if "reduced" in notes:
            print("SKIPPED: OutOfMemory.test_by_its_control_group: no rights on control groups here",
                  file=sys.stderr, flush=True)
            self.skipTest("no rights on control groups here")
        self.fails()


class OutOfMemoryWatched(OutOfMemory):
    """Without control groups the shim polls the memory of its processes."""

    CONFIG = {**OutOfMemory.CONFIG, "cgroup": "none"}
    test_by_its_control_group = None

    def test_by_the_watch_of_the_shim(self):
        self.assertIn("reduced", json.dumps(self.daemon.get("/v1/nodes")))
        self.fails()


class Siblings(LiveTest):
    CONFIG = TWO

    def test_the_rest_of_an_array_that_fails_alike_is_held(self):
        made = self.daemon.post("/v1/jobs", {"command": ["/no/such/program"], "array": "0-19%1",
                                             "cwd": str(self.daemon.work)})["ids"]
        until("some are held", lambda: self.daemon.job(made[-1])["state"] == "held")
        states = [self.daemon.job(job)["state"] for job in made]
        self.assertEqual(states, ["failed"] * 3 + ["held"] * 17)
        self.assertIn("the last 3 jobs of its array failed the same way: incorrect inputs",
                      self.daemon.job(made[-1])["why"])
        self.assertIn(f"muster release {made[-1]}", self.daemon.job(made[-1])["why"])
        events = self.daemon.get("/v1/events?limit=1000")["events"]
        said = [event for event in events if event["kind"] == "siblings-held"]
        self.assertEqual([event["job"] for event in said], [made[2]])
        self.assertIn("17 jobs are held", said[0]["words"])
        # They stay held after a restart. A released job continues.
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.daemon.job(made[-1])["state"], "held")
        self.daemon.muster("release", str(made[-1]))
        self.wait_over(made[-1], "failed")
        self.assertEqual(self.daemon.job(made[5])["state"], "held")


class Quarantine(LiveTest):
    """Two users with tokens, and a node whose test succeeds if the file `well` exists."""

    def setUp(self):
        super().setUp()
        self.daemon = self.shared_with(start=False)
        self.well = self.daemon.work / "well"
        self.daemon.config({**TWO, "grace": "2s", "progress_every": "100ms",
                            "jobs_share_account": "accepted",
                            "listen": {"tcp": "127.0.0.1:0", "tokens": "tokens"},
                            "quarantine": {"period": "2s", "test": [
                                "sh", "-c", f"test $MUSTER_NODE = left && test -e {self.well}"]}})
        self.tokens = {user: self.daemon.muster("token", user)[0].strip()
                       for user in ("ann", "bob")}
        self.daemon.start()

    def job_of(self, user, text):
        port = int(re.findall(r" and http://127\.0\.0\.1:(\d+)/$", self.daemon.log(), re.M)[-1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/jobs", json.dumps(
                {"command": ["sh", "-c", text], "cwd": str(self.daemon.work)}),
                {"Authorization": "Bearer " + self.tokens[user],
                 "Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())["id"]

    def node(self, name="left"):
        return next(n for n in self.daemon.get("/v1/nodes")["nodes"] if n["name"] == name)

    def spoil(self):
        for user in ("ann", "bob"):
            self.wait_over(self.job_of(user, ILL))
        until("the server is quarantined", lambda: self.node()["state"] == "quarantined")

    def kinds_of_nodes(self):
        return [event["kind"] for event in self.daemon.get("/v1/events?limit=1000")["events"]
                if event["kind"].startswith("node-")]

    def test_a_server_that_fails_two_users_is_tested_before_it_returns(self):
        self.spoil()
        node = self.node()
        self.assertFalse(node["open"])
        self.assertRegex(node["quarantine"]["why"],
                         "^reported by 2 users: invalid-memory-access, 2 attempts within .*$")
        self.assertEqual(node["quarantine"]["evidence"], "reported")
        self.assertIn("quarantined", self.daemon.muster("nodes")[0])
        self.assertIn("reported by 2 users", " ".join(node["notes"]))
        until("a test has failed", lambda: "last_test" in self.node()["quarantine"])
        self.assertEqual(self.node()["state"], "quarantined")
        job = self.job_of("ann", "echo $MUSTER_NODE")
        self.assertEqual(self.wait_over(job)["leases"][0]["where"], "right:0")
        self.daemon.kill()  # The quarantine survives a restart.
        self.well.touch()
        self.daemon.start()
        until("it has returned", lambda: self.node()["state"] == "open")
        kinds = self.kinds_of_nodes()
        self.assertEqual([kinds[0], kinds[1], kinds[2], kinds[-1]],
                         ["node-quarantined", "node-tested", "node-test-failed", "node-returned"])
        job = self.job_of("ann", "echo $MUSTER_NODE")
        self.assertEqual(self.wait_over(job)["leases"][0]["where"], "left:0")

    def test_an_operator_lifts_it(self):
        self.spoil()
        self.daemon.muster("undrain", "left")
        self.assertEqual(self.node()["state"], "open")
        self.assertNotIn("quarantine", self.node())

    def test_one_user_alone_spoils_nothing(self):
        for _ in range(2):
            self.wait_over(self.job_of("ann", ILL))
        self.assertEqual(self.node()["state"], "open")


if __name__ == "__main__":
    live_daemon.main(__doc__)
