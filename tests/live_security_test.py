#!/usr/bin/env python3
"""Permissions of users of a live manager, and protection against hostile and slow clients.

    tests/live_security_test.py MUSTER TRAINER [TEST...]
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import stat
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import api_schema  # noqa: E402
import live_daemon  # noqa: E402
from live_daemon import GATE, NOBODY, PATIENCE, LiveTest, until  # noqa: E402

class TcpTest(LiveTest):
    """A manager with tokens: ann and bob are users, olga an operator."""

    def setUp(self):
        super().setUp()
        self.daemon = self.shared_with({"listen": {"tcp": "127.0.0.1:0", "tokens": "tokens"}},
                                       start=False)
        self.tokens = {user: self.daemon.muster("token", user, *more)[0].strip()
                       for user, more in (("ann", ()), ("bob", ()), ("olga", ("--operator",)))}
        self.daemon.start()
        self.port = int(re.search(r" and http://127\.0\.0\.1:(\d+)/$", self.daemon.log(), re.M).group(1))

    def call(self, user, method, path, body=None, **headers):
        """Returns status and text. If `user` is None, the call has no token."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            if user is not None:
                headers["Authorization"] = "Bearer " + self.tokens.get(user, user)
            if body is not None:
                headers.setdefault("Content-Type", "application/json")
                body = body if isinstance(body, (bytes, str)) else json.dumps(body)
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            api_schema.check(method, path, answer.status, answer.headers["Content-Type"], text)
            return answer.status, text

    def call_json(self, *words, **more):
        status, text = self.call(*words, **more)
        self.assertIn(status, (200, 201), text)
        return json.loads(text)

    def job_of(self, user, command, **request):
        return self.call_json(user, "POST", "/v1/jobs",
                              {"command": command, "cwd": str(self.daemon.work), **request})["id"]

    def raw(self, data, wait=PATIENCE):
        """Sends these bytes and returns the answer of the server."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as client:
            said = b""
            with contextlib.suppress(OSError):
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                while part := client.recv(65536):
                    said += part
            return said


class Tokens(TcpTest):
    def test_only_fingerprints_are_kept(self):
        path = self.daemon.home / "tokens"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        text = path.read_text()
        self.assertEqual([line.split()[1:4] for line in text.splitlines()],
                         [["ann", "user", "ann"], ["bob", "user", "bob"],
                          ["olga", "operator", "olga"]])
        for token in self.tokens.values():
            self.assertNotIn(token, text)
            self.assertNotIn(token.removeprefix("muster-"), text)
            self.assertNotIn(token, self.daemon.log())
        self.assertEqual(len(set(self.tokens.values())), 3)

    def test_the_program_calls_by_tcp(self):
        server = f"http://127.0.0.1:{self.port}"
        verb = self.daemon.verb("submit", "--server", server, "--wait", "--", "true",
                                MUSTER_TOKEN=self.tokens["ann"])
        out, err = verb.communicate(timeout=PATIENCE)
        self.assertEqual(verb.returncode, 0, err)
        self.assertEqual(self.daemon.job(1)["user"], "ann")
        self.daemon.muster("queue", "--server", server, status=1)

    def test_a_token_counts_from_when_it_is_made_until_it_is_taken_back(self):
        path = self.daemon.home / "tokens"
        new = self.daemon.muster("token", "--name", "laptop", "--file", path, "carl")[0].strip()
        self.assertEqual(self.call(new, "GET", "/v1/jobs")[0], 200)
        path.write_text("".join(line for line in path.read_text().splitlines(True)
                                if "laptop" not in line))
        self.assertEqual(self.call(new, "GET", "/v1/jobs")[0], 401)
        self.assertEqual(self.call("ann", "GET", "/v1/jobs")[0], 200)

    def test_what_is_no_token_file_is_left_alone(self):
        other = self.daemon.work / "notes"
        other.write_text("some notes\n")
        for mode, words in ((0o600, "SHA256 USER ROLE NAME"), (0o644, "chmod 600")):
            other.chmod(mode)
            self.daemon.give(other)
            err = self.daemon.muster("token", "--file", other, "ann", status=1)[1]
            self.assertIn(words, err)
            self.assertEqual(other.read_text(), "some notes\n")
        self.assertIn("not a valid user name",
                      self.daemon.muster("token", "a b", status=2)[1])
        self.assertIn("not a valid name", self.daemon.muster("token", "--name", "a\nb", "x", status=2)[1])
        self.daemon.muster("token", status=2)
        missing_end = self.daemon.work / "tokens"
        missing_end.write_text("# ours")
        missing_end.chmod(0o600)
        self.daemon.give(missing_end)
        self.daemon.muster("token", "--file", missing_end, "ann")
        self.assertEqual(len(missing_end.read_text().splitlines()), 2)


class Strangers(TcpTest):
    PATHS = ("/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/log", "/v1/events", "/v1/nodes", "/v1/tenants",
             "/metrics", "/v1/jobs/1/events?follow=1", "/v1/jobs/1/log?follow=1")

    def test_without_a_token_nothing(self):
        self.wait_state(self.job_of("ann", "sleep 600"), "running")
        wrong = self.tokens["ann"][:-1] + ("0" if self.tokens["ann"][-1] != "0" else "1")
        for token in (None, wrong, "", "x" * 5000):
            for path in self.PATHS:
                self.assertIn(self.call(token, "GET", path)[0], (401, 431), path)
            self.assertIn(self.call(token, "POST", "/v1/jobs", {"command": "touch stolen"})[0],
                          (401, 431))
            self.assertIn(self.call(token, "POST", "/v1/jobs/1/cancel")[0], (401, 431))
        self.assertEqual(self.call(None, "GET", "/healthz")[0], 200)
        self.assertEqual(self.daemon.get("/v1/jobs?state=all")["jobs"][0]["state"], "running")
        self.assertEqual(len(self.daemon.get("/v1/jobs?state=all")["jobs"]), 1)

    def test_others_jobs_are_not_there(self):
        ann = self.job_of("ann", "echo mine; sleep 600", env={"SECRET": "s3cret"}, name="annjob")
        self.wait_state(ann, "running")
        before = self.daemon.job(ann)
        for method, path in (("GET", ""), ("GET", "/log"), ("GET", "/log?follow=1"),
                             ("GET", "/events?follow=1"), ("POST", "/cancel"), ("POST", "/hold"),
                             ("POST", "/release"), ("GET", "/page"), ("POST", "/retry")):
            status, text = self.call("bob", method, f"/v1/jobs/{ann}{path}")
            self.assertIn(status, (403, 404), path)
            for word in ("s3cret", "mine", "annjob"):
                self.assertNotIn(word, text)
        for path in ("/v1/jobs", "/v1/jobs?state=all", "/v1/jobs?user=ann", "/v1/events",
                     "/v1/nodes", "/v1/jobs?state=running&user=ann", "/v1/fleet", "/v1/me",
                     "/v1/jobs?state=all&search=ann&sort=name&counts=1"):
            status, text = self.call("bob", "GET", path)
            self.assertEqual(status, 200, text)
            self.assertNotIn("annjob", text)
            self.assertNotIn("s3cret", text)
        self.assertEqual(self.call("bob", "POST", "/v1/nodes/" + self.node() + "/drain")[0], 403)
        after = self.daemon.job(ann)
        for key in ("state", "leases", "request", "leases_used"):
            self.assertEqual(before[key], after[key], key)
        self.assertTrue(self.daemon.get("/v1/nodes")["nodes"][0]["open"])
        self.assertEqual(self.call_json("ann", "GET", f"/v1/jobs/{ann}")["request"]["env"],
                         {"SECRET": "***"}, "not even its owner is shown a secret")
        until("ann sees her own",
              lambda: "mine" in self.call("ann", "GET", f"/v1/jobs/{ann}/log")[1])
        self.assertEqual(self.call("olga", "POST", f"/v1/jobs/{ann}/cancel")[0], 200)
        self.assertIn("olga", self.wait_over(ann, "cancelled")["why"])

    def node(self):
        return self.daemon.get("/v1/nodes")["nodes"][0]["name"]

    def test_keys_and_beginnings_are_everybodys_own(self):
        mine = self.call_json("ann", "POST", "/v1/jobs", {"command": "true"},
                              **{"Idempotency-Key": "k"})
        other = self.call_json("bob", "POST", "/v1/jobs", {"command": "true"},
                               **{"Idempotency-Key": "k"})
        self.assertNotEqual(mine["id"], other["id"])
        for _ in range(8):
            self.job_of("ann", "true")
        bobs = self.job_of("bob", "true")
        self.assertEqual(bobs, 11)
        self.assertEqual(self.call_json("bob", "GET", "/v1/jobs/1")["id"], bobs)
        self.assertEqual(self.call_json("ann", "GET", "/v1/jobs/1")["id"], 1)

    def test_operators_may_drain(self):
        self.assertFalse(self.call_json("olga", "POST", f"/v1/nodes/{self.node()}/drain")["open"])


class Tricks(TcpTest):
    def test_paths_lead_nowhere(self):
        job = self.job_of("ann", "echo hello", name="plain")
        self.wait_over(job)
        for path in (f"/v1/jobs/{job}/log?node=../..", f"/v1/jobs/{job}/log?lease=../../../etc",
                     f"/v1/jobs/{job}/log?node=-1", f"/v1/jobs/{job}/log?node=70000",
                     f"/v1/jobs/{job}/log?lease=0", f"/v1/jobs/{job}/log?lease=4294967295",
                     "/v1/jobs/..%2f..%2fetc%2fpasswd/log", "/v1/jobs/../../etc/passwd",
                     "/v1/jobs/%00/log", f"/v1/jobs/{job}%2f..%2f../log", "/../../etc/passwd",
                     "//etc/passwd", f"/v1/jobs/{job}/log/../../../journal.db",
                     "/v1/jobs/-1", "/v1/jobs/1'%20OR%201=1", "/v1/jobs/%25", "/v1/jobs/_"):
            status, text = self.call("ann", "GET", path)
            self.assertGreaterEqual(status, 400, path)
            self.assertLess(status, 500, path)
            self.assertNotIn("root:", text)
        for name in ("../../../tmp/evil", "a/b", "..", "x\ny", "\u0000", "%2e%2e", "$(touch evil)",
                     "x" * 100_000):
            request = {"command": "true", "cwd": str(self.daemon.work), "name": name}
            status, text = self.call("ann", "POST", "/v1/jobs", request)
            self.assertIn(status, (201, 400), text)
            if status == 201:
                self.wait_over(json.loads(text)["id"])
        self.assertEqual(list(self.daemon.work.iterdir()), [])
        for lease in (self.daemon.home / "leases").iterdir():
            self.assertRegex(lease.name, r"^j\d+\.e\d+(\.n\d+)?$")

    def test_a_job_cannot_make_the_manager_read_for_it(self):
        secret = self.daemon.base / "secret"
        secret.write_text("top secret\n")
        trick = "cd $(dirname $MUSTER_PROGRESS); echo before; rm -f out.log progress.jsonl; "
        linked = self.job_of("ann", trick + f"ln -s {secret} out.log; ln -s {secret} out.log.1; "
                                            f"ln -s {secret} progress.jsonl; sleep 0.5")
        fifo = self.job_of("ann", trick + "mkfifo out.log progress.jsonl; sleep 0.5")
        for job in (linked, fifo):
            until("it has run for a while",
                  lambda: self.daemon.job(job)["state"] in ("running", "done"))
            for path in ("/log", "/log?offset=0&limit=100", ""):
                self.assertNotIn("top secret", self.call("ann", "GET", f"/v1/jobs/{job}{path}")[1])
        for job in (linked, fifo):
            self.wait_over(job)
            self.assertNotIn("top secret", self.call("ann", "GET", f"/v1/jobs/{job}/log")[1])
        self.assertEqual(secret.read_text(), "top secret\n")

    def test_a_job_may_say_any_nonsense_of_its_progress(self):
        job = self.job_of("ann", "p=$MUSTER_PROGRESS; "
                                 "head -c 300000 /dev/urandom > $p; echo >> $p; "
                                 "printf '[%.0s' $(seq 3000) >> $p; echo >> $p; "
                                 "echo '{\"step\":1e999,\"loss\":\"x\"}' >> $p; "
                                 "echo '{\"step\":7,\"loss\":0.5,\"more\":[1]}' >> $p; " + GATE)
        until("it is read", lambda: self.daemon.job(job).get("progress", {}).get("step") == 7)
        self.go()
        self.assertEqual(self.wait_over(job)["progress"]["step"], 7)


class Flood(TcpTest):
    def test_nasty_clients_cost_little(self):
        slow = []
        thread = threading.Thread(target=lambda: slow.append(self.what_a_slow_client_is_told()))
        thread.start()
        self.nastiness(10)
        before = self.daemon.status_of("VmRSS")
        self.nastiness(190)
        after = self.daemon.status_of("VmRSS")
        print(f"resident: {before} kB, after 190 nasty requests {after} kB", file=sys.stderr)
        self.assertLess(after - before, 24 << 10)
        thread.join()
        said, seconds = slow[0]
        self.assertIn(b" 408 ", said.split(b"\r\n")[0] + b" ")
        self.assertGreater(seconds, 9)
        self.assertLess(seconds, 50, "by another limit than that of a request")
        self.assertEqual(self.daemon.get("/v1/jobs?state=all")["jobs"], [])
        self.assertEqual(self.call("ann", "GET", "/v1/jobs")[0], 200)

    def what_a_slow_client_is_told(self):
        """Returns the answer to a slow client, and the seconds until it arrives."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            began = time.monotonic()
            client.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n")
            said = b""
            with contextlib.suppress(OSError):
                while part := client.recv(4096):
                    said += part
            return said, time.monotonic() - began

    def nastiness(self, count):
        auth = b"Authorization: Bearer " + self.tokens["ann"].encode() + b"\r\n"
        head = (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\n" + auth)
        big = b'{"command":"' + b"x" * (10 << 20) + b'"}'
        kinds = (
            (head + b"Content-Length: %d\r\n\r\n" % len(big) + big, (b"413",)),
            (head + b"Transfer-Encoding: chunked\r\n\r\n400000\r\n" + b"y" * (4 << 20), (b"413",)),
            (os.urandom(3000), (b"400", b"431", b"")),
            (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100_000, (b"431", b"400", b"")),
            (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", (b"400", b"414", b"431", b"")),
            (head + b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000, (b"400",)),
            (head + b"Content-Length: -5\r\n\r\n", (b"400",)),
            (b"GET /v1/jobs HTTP/1.1\r\nHost: evil.example\r\n" + auth + b"\r\n", (b"403",)),
        )
        for i in range(count):
            data, wanted = kinds[i % len(kinds)]
            said = self.raw(data)
            status = said.split(b" ")[1] if said.startswith(b"HTTP/") else b""
            self.assertIn(status, wanted, (data[:60], said[:200]))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                     "needs root and setpriv, to become a user without rights")
class Unprivileged(LiveTest):
    """The manager runs as an ordinary user without access to control groups."""

    def test_works_and_says_what_is_reduced(self):
        daemon = self.daemon_with(as_user=NOBODY)
        node = daemon.get("/v1/nodes")["nodes"][0]
        self.assertEqual(node["isolation"], "reduced")
        out, _ = daemon.muster("nodes")
        self.assertIn("reduced", out)
        self.assertIn("CPU and memory limits are monitored, not enforced by the kernel", out)
        job = self.submit("--", "sh", "-c", "id -u; sleep 0.2", daemon=daemon)
        ended = self.wait_over(job, daemon=daemon)
        self.assertEqual(self.output(job, daemon=daemon), f"{NOBODY}\n")
        self.assertTrue(ended["leases"][0]["isolation"].startswith("reduced"), ended["leases"])
        self.assertIn("reduced", daemon.muster("status", job)[0])
        # The CPU limit and cancellation still work.
        for _ in range(4):  # The monitor may have been delayed once, but not each time.
            used, most = self.cpu_of_a_busy_job(daemon)
            self.assertEqual(daemon.processes(), [])
            if used < most:
                break
        self.assertLess(used, most)

    def cpu_of_a_busy_job(self, daemon):
        """Returns the used CPU seconds and the limit."""
        busy = self.submit("--", "sh", "-c", "while :; do :; done", daemon=daemon)
        share = self.wait_state(busy, "running", daemon=daemon)["cpus"]
        time.sleep(2)
        daemon.muster("cancel", busy)
        lease = self.wait_over(busy, "cancelled", daemon=daemon)["leases"][0]
        return lease["cpu_s"], 1.6 * share * (lease["ended"] - lease["started"]) + 0.2

    def test_other_users_are_kept_out(self):
        daemon = self.daemon_with()
        self.submit("--", "true", daemon=daemon)
        stranger = self.daemon_with(as_user=NOBODY, start=False)
        err = stranger.muster("queue", "--server", daemon.home / "muster.sock", status=1)[1]
        self.assertIn("ermission denied", err)
        for path in daemon.home.iterdir():
            if path.name != "config.yaml":
                self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)


if __name__ == "__main__":
    live_daemon.main(__doc__)
