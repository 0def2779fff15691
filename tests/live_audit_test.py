#!/usr/bin/env python3
"""The audit of a live manager, tokens that are revoked, tickets that end, and values of variables
that only the owner of a job sees.

    tests/live_audit_test.py MUSTER TRAINER [TEST...]
"""

import contextlib
import http.client
import json
import os
import re
import secrets
import sqlite3
import stat
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import api_schema  # noqa: E402
import live_daemon  # noqa: E402
from live_daemon import NOBODY, PATIENCE, LiveTest, until  # noqa: E402
from other_user import OtherUser  # noqa: E402

USERS = (("ann", ()), ("bob", ()), ("olga", ("--operator",)))


class AuditTest(LiveTest):
    """A manager with tokens: ann and bob are users, olga an operator."""

    def setUp(self):
        super().setUp()
        self.daemon = self.shared_with(start=False)
        self.listen(0)
        self.tokens = {user: self.daemon.muster("token", "--name", user + "-key", user, *more)[0].strip()
                       for user, more in USERS}
        self.daemon.start()
        self.port = int(re.search(r" and http://127\.0\.0\.1:(\d+)/$", self.daemon.log(), re.M).group(1))
        self.listen(self.port)  # After a restart: tickets are valid only at one address.

    def listen(self, port):
        self.daemon.config({"jobs_share_account": "accepted", "grace": "1s",
                            "listen": {"tcp": f"127.0.0.1:{port}", "tokens": "tokens"}})

    def call(self, credential, method, path, body=None, **headers):
        """Returns status and text. `credential`: a user, a token or ticket, or None."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            if credential is not None:
                headers["Authorization"] = "Bearer " + self.tokens.get(credential, credential)
            if body is not None:
                headers["Content-Type"] = "application/json"
                body = json.dumps(body)
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            api_schema.check(method, path, answer.status, answer.headers["Content-Type"], text)
            return answer.status, text

    def job_of(self, user, command, **request):
        status, text = self.call(user, "POST", "/v1/jobs",
                                 {"command": command, "cwd": str(self.daemon.work), **request})
        self.assertEqual(status, 201, text)
        return json.loads(text)["id"]

    def rows(self, who=None, **query):
        """Rows of the audit, oldest first; for the operator on the socket, or by the token of `who`."""
        path = "/v1/audit?" + urllib.parse.urlencode({"limit": 1000, **query})
        if who is None:
            return self.daemon.get(path)["rows"][::-1]
        status, text = self.call(who, "GET", path)
        self.assertEqual(status, 200, text)
        return json.loads(text)["rows"][::-1]

    def wait_rows(self, count, **query):
        until(f"{count} rows {query}: {self.rows()}", lambda: len(self.rows(**query)) >= count)
        return self.rows(**query)


def brief(rows):
    return [(row["call"], row.get("user"), row.get("object"), row["status"], row["answer"])
            for row in rows if row["call"] != "startManager"]


class Rows(AuditTest):
    def test_every_change_has_a_row(self):
        job = self.job_of("ann", "true", hold=True, name="first", env={"A": "b"})
        self.assertEqual(self.call("olga", "POST", f"/v1/jobs/{job}/release")[0], 200)
        self.wait_over(job)
        again = json.loads(self.call("olga", "POST", f"/v1/jobs/{job}/retry")[1])["id"]
        array = self.job_of("bob", "sleep 100", array="1-3")
        self.assertEqual(self.call("bob", "POST", f"/v1/jobs/{array}/hold")[0], 200)
        self.assertEqual(self.call("bob", "POST", f"/v1/jobs/{array}_*/cancel")[0], 200)
        node = self.daemon.get("/v1/nodes")["nodes"][0]["name"]
        for verb in ("drain", "undrain"):
            self.assertEqual(self.call("olga", "POST", f"/v1/nodes/{node}/{verb}")[0], 200)
        self.daemon.post("/v1/ticket")
        me = self.daemon.get("/v1/me")["user"]
        rows = self.rows()
        self.assertEqual([row[:4] for row in brief(rows)], [
            ("submitJob", "ann", f"job {job}", 201),
            ("releaseJob", "olga", f"job {job}", 200),
            ("retryJob", "olga", f"job {again}", 201),
            ("submitJob", "bob", f"array {array}", 201),
            ("holdJob", "bob", f"job {array}", 200),
            ("cancelJob", "bob", f"array {array}", 200),
            ("drainNode", "olga", f"node {node}", 200),
            ("undrainNode", "olga", f"node {node}", 200),
            ("giveTicket", me, None, 201)])
        of = {row["call"]: row for row in rows}
        self.assertEqual([of["retryJob"][key] for key in ("answer", "owner", "via", "address")],
                         [f"retries job {job}", "ann", "token olga-key", "127.0.0.1"])
        self.assertEqual(of["cancelJob"]["answer"], "3 jobs")
        self.assertEqual((of["giveTicket"]["via"], of["giveTicket"].get("address")), ("socket", None))
        self.assertRegex(of["startManager"]["answer"],
                         "^mode: shared-account: all jobs run as .*, for all users; operators: none$")
        self.assertAlmostEqual(rows[-1]["at"], time.time(), delta=60)

    def test_filters_pages_and_rights(self):
        first = self.job_of("ann", "true", hold=True)
        second = self.job_of("bob", "true", hold=True)
        self.call("olga", "POST", f"/v1/jobs/{first}/cancel")
        self.assertEqual(brief(self.rows(job=first)), [("submitJob", "ann", f"job {first}", 201, "1 job"),
                                                       ("cancelJob", "olga", f"job {first}", 200, "cancelled")])
        self.assertEqual([row["user"] for row in self.rows("ann")], ["ann", "olga"], "about her job")
        self.assertEqual([row["user"] for row in self.rows("bob")], ["bob"])
        self.assertEqual(self.rows("bob", user="ann"), [])
        self.assertEqual(brief(self.rows("olga", verb="cancelJob"))[0][1], "olga")
        self.assertEqual(self.rows(since=time.time() + 3600), [])
        newest = self.daemon.get("/v1/audit?limit=1")["rows"]
        self.assertEqual(len(newest), 1)
        older = self.daemon.get(f"/v1/audit?limit=1&before={newest[0]['number']}")["rows"]
        self.assertEqual([row["number"] for row in older], [newest[0]["number"] - 1])
        for wrong in ("limit=0", "limit=1001", "job=x", "since=-1", "before=0", "verb=a%20b", "what=1"):
            self.assertEqual(self.call("ann", "GET", "/v1/audit?" + wrong)[0], 400, wrong)
        out, _ = self.daemon.muster("audit", "--job", first)
        lines = out.splitlines()
        self.assertEqual(lines[0].split(), ["TIME", "USER", "HOW", "WHAT", "OBJECT", "ANSWER"])
        at = lines[0].index("WHAT")
        self.assertEqual([line[at:].split()[0] for line in lines[2:]], ["cancelJob", "submitJob"])
        self.assertIn("token olga-key from 127.0.0.1", lines[2])
        shown = self.daemon.json("audit", "--user", "bob", "--since", "1h", "--limit", "5")["rows"]
        self.assertEqual([row["job"] for row in shown], [second])
        self.assertEqual(self.daemon.muster("audit", "--since", "2001-01-01", "--limit", "0")[0], "no rows\n")
        self.assertIn("not a time", self.daemon.muster("audit", "--since", "soon", status=2)[1])

    def test_looks_at_the_output_of_others(self):
        self.wait_over(job := self.job_of("ann", "echo hello"))
        for who, status in (("ann", 200), ("olga", 200), ("olga", 200), ("bob", 404)):
            self.assertEqual(self.call(who, "GET", f"/v1/jobs/{job}/log")[0], status)
        looks = self.wait_rows(1, verb="readLog")
        self.assertEqual(brief(looks), [("readLog", "olga", f"job {job}", 200, "output of lease 1")])
        self.assertEqual(looks[0]["owner"], "ann")
        self.assertEqual(len(self.rows("ann", verb="readLog")), 1, "ann sees who has looked")

    def test_refusals_have_rows_and_a_limit(self):
        node = self.daemon.get("/v1/nodes")["nodes"][0]["name"]
        job = self.job_of("ann", "true", hold=True)
        for method, path, status in (("POST", f"/v1/nodes/{node}/drain", 403),
                                     ("POST", f"/v1/jobs/{job}/cancel", 404),
                                     ("GET", "/v1/whatif?policy=srtf", 403), ("POST", "/v1/ticket", 403)):
            self.assertEqual(self.call("bob", method, path)[0], status, path)
        wrong = "muster-" + secrets.token_hex(32)
        for _ in range(30):
            self.assertEqual(self.call(wrong, "GET", f"/v1/jobs/{job}/log")[0], 401)
        strangers = [row for row in self.wait_rows(16) if "user" not in row]
        bobs = self.rows(user="bob")
        self.assertEqual([row[:4] for row in brief(bobs)],
                         [("drainNode", "bob", f"node {node}", 403), ("cancelJob", "bob", f"job {job}", 404),
                          ("whatIf", "bob", None, 403), ("giveTicket", "bob", None, 403)])
        self.assertEqual(bobs[0]["answer"], "only operators can drain nodes")
        self.assertEqual([row["user"] for row in self.rows("ann")], ["ann"])
        self.assertEqual(len(strangers), 10, "at most 10 per minute")
        self.assertEqual(brief(strangers)[0], ("readLog", None, f"job {job}", 401, "unknown token"))
        self.assertEqual(strangers[0]["address"], "127.0.0.1")
        self.assertNotIn(wrong, json.dumps(self.rows()))
        for _ in range(20):
            self.assertEqual(self.call("bob", "POST", f"/v1/nodes/{node}/drain")[0], 403)
        self.daemon.stop()  # Ends the minute.
        self.daemon.start()
        counted = {row.get("user"): row["dropped"] for row in self.rows(verb="refusals")}
        self.assertEqual(counted, {None: 20, "bob": 14})
        self.assertEqual(len(self.rows(user="bob")), 11)

    def test_a_flood_of_refusals_costs_no_disk(self):
        wrong = "muster-" + secrets.token_hex(32)
        written = self.written()
        for _ in range(300):
            self.call(wrong, "GET", "/v1/nodes")
        time.sleep(1.2)
        self.assertLess(self.written() - written, 100_000)

    def written(self):
        text = live_daemon.proc(self.daemon.process.pid, "io").decode()
        return int(re.search(r"^write_bytes: (\d+)", text, re.M).group(1))

    def test_a_decision_and_its_row_survive_a_kill_together(self):
        for turn in range(4):
            known = []
            thread = threading.Thread(target=self.submit_until_killed, args=(known,))
            thread.start()
            time.sleep(0.15 + 0.1 * turn)
            self.daemon.kill()
            thread.join()
            self.daemon.start()
            self.check_agreement(known)

    def submit_until_killed(self, known):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                job = self.post_job("true", hold=True)
                known.append(job)
                self.daemon.post(f"/v1/jobs/{job}/cancel")

    def check_agreement(self, known):
        with contextlib.closing(sqlite3.connect(self.daemon.home / "journal.db")) as journal:
            jobs = {job for (job,) in journal.execute("SELECT id FROM jobs")}
            rows = journal.execute("SELECT verb, job FROM audit WHERE job > 0").fetchall()
            cancelled = {job for (job,) in
                         journal.execute("SELECT id FROM jobs WHERE state = 'cancelled'")}
        self.assertEqual({job for verb, job in rows if verb == "submitJob"}, jobs)
        self.assertEqual({job for verb, job in rows if verb == "cancelJob"}, cancelled)
        self.assertEqual(len(rows), len(set(rows)), "no row twice")
        self.assertLessEqual(set(known), jobs)


class Tokens(AuditTest):
    def test_list_shows_no_token(self):
        out, _ = self.daemon.muster("token", "list")
        lines = out.splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "USER", "ROLE", "CREATED", "FINGERPRINT"])
        self.assertEqual([line.split()[:3] for line in lines[2:]],
                         [["ann-key", "ann", "user"], ["bob-key", "bob", "user"],
                          ["olga-key", "olga", "operator"]])
        text = (self.daemon.home / "tokens").read_text()
        shown = self.daemon.json("token", "list")["tokens"]
        for line, token in zip(text.splitlines(), shown):
            whole, *_, created = line.split()
            self.assertEqual((token["fingerprint"], token["created"]), (whole[:8], created))
            self.assertNotIn(whole, out)
            self.assertRegex(created, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for token in self.tokens.values():
            self.assertNotIn(token, out)

    def test_a_revoked_token_ends_at_the_next_request_and_its_streams_soon(self):
        job = self.job_of("ann", "while :; do sleep 1; done")
        self.wait_state(job, "running")
        fingerprint = self.daemon.json("token", "list")["tokens"][1]["fingerprint"]
        with contextlib.ExitStack() as stack:
            kept, log, events = (stack.enter_context(contextlib.closing(
                http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE))) for _ in range(3))

            def get(connection, user, path):
                connection.request("GET", path, headers={"Authorization": "Bearer " + self.tokens[user]})
                return connection.getresponse()
            streams = [get(log, "ann", f"/v1/jobs/{job}/log?follow=1"), get(events, "bob", "/v1/events?follow=1")]
            self.assertEqual([answer.status for answer in streams], [200, 200])
            with get(kept, "ann", "/v1/me") as answer:
                self.assertEqual((answer.status, b"ann" in answer.read()), (200, True))
            out, _ = self.daemon.muster("token", "revoke", "ann-key")
            self.assertRegex(out, r"^revoked: ann-key \(user ann, fingerprint [0-9a-f]{8}\)$")
            self.assertEqual(get(kept, "ann", "/v1/me").status, 401, "on the open connection")
            self.assertEqual(self.call("bob", "GET", "/v1/me")[0], 200)
            self.assertEqual(self.daemon.json("token", "revoke", fingerprint)["name"], "bob-key")
            began = time.monotonic()
            self.assertEqual(self.call("bob", "GET", "/v1/me")[0], 401)
            self.daemon.muster("token", "--name", "new", "carl")
            for answer in streams:
                answer.read()
                self.assertLess(time.monotonic() - began, 8)
        rows = self.wait_rows(2, verb="revokeToken")
        self.assertEqual(sorted(row["object"] for row in rows), ["token ann-key", "token bob-key"])
        self.assertEqual(rows[0]["via"], "token file")
        self.assertRegex(rows[0]["answer"], "^user (ann|bob), fingerprint [0-9a-f]{8}$")
        self.assertEqual(self.wait_rows(1, verb="createToken")[0]["object"], "token new")

    def test_which_token_must_be_clear(self):
        path = self.daemon.home / "tokens"
        before = path.read_text()
        err = self.daemon.muster("token", "revoke", "unknown", status=1)[1]
        self.assertIn("no such token: 'unknown'", err)
        self.daemon.muster("token", "--name", "ann-key", "carl")
        err = self.daemon.muster("token", "revoke", "ann-key", status=1)[1]
        self.assertRegex(err, r"several tokens match 'ann-key'; use a fingerprint: [0-9a-f]{8} \(ann\), ")
        self.assertEqual(path.read_text().splitlines()[:3], before.splitlines())
        path.write_text("# ours\n" + path.read_text() + "\n# end")
        path.chmod(0o400)
        carls = self.daemon.json("token", "list")["tokens"][-1]["fingerprint"]
        self.daemon.muster("token", "revoke", carls)
        self.assertEqual(path.read_text(), "# ours\n" + before + "\n# end\n")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o400)
        self.assertEqual(sorted(each.name for each in self.daemon.home.glob("tokens*")), ["tokens"])

    def test_no_command_loses_the_line_of_another(self):
        commands = [self.daemon.verb("token", "--name", f"t{n}", "ann") for n in range(8)]
        commands += [self.daemon.verb("token", "revoke", user + "-key") for user, _ in USERS]
        for command in commands:
            command.communicate(timeout=PATIENCE)
            self.assertEqual(command.returncode, 0)
        names = [token["name"] for token in self.daemon.json("token", "list")["tokens"]]
        self.assertEqual(sorted(names), [f"t{n}" for n in range(8)])

    def test_lines_without_a_date_stay_valid(self):
        path = self.daemon.home / "tokens"
        path.write_text("\n".join(" ".join(line.split()[:4]) for line in path.read_text().splitlines()))
        self.assertEqual(self.call("ann", "GET", "/v1/me")[0], 200)
        self.assertNotIn("created", self.daemon.json("token", "list")["tokens"][0])


class Tickets(AuditTest):
    def ticket(self):
        """Returns a ticket of the manager's user."""
        connection = OtherUser(NOBODY, self.daemon.home / "muster.sock") if os.geteuid() == 0 else None
        return json.loads(self.daemon.ask("POST", "/v1/ticket", connection=connection)[1])["ticket"]

    def test_logout_ends_all_tickets_of_one_user(self):
        first, second = self.ticket(), self.ticket()
        other = self.daemon.post("/v1/ticket")["ticket"] if os.geteuid() == 0 else None  # A ticket of root.
        for ticket in (first, second):
            self.assertEqual(self.call(ticket, "GET", "/v1/me")[0], 200)
        self.daemon.muster("logout", status=2)
        out, _ = self.daemon.muster("logout", "--all")
        self.assertIn("all dashboard sessions of", out)
        for ticket in (first, second):
            self.assertEqual(self.call(ticket, "GET", "/v1/me")[0], 401)
        self.assertEqual(self.call("ann", "GET", "/v1/me")[0], 200, "a token is not a ticket")
        if other:
            self.assertEqual(self.call(other, "GET", "/v1/me")[0], 200, "the ticket of another user")
        self.assertEqual(self.rows(verb="logOut")[0]["answer"], "generation 1")
        third = self.ticket()
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.call(first, "GET", "/v1/me")[0], 401, "also after a restart")
        status, text = self.call(third, "GET", "/v1/me")
        self.assertEqual((status, json.loads(text).get("operator")), (200, True))
        self.assertEqual(self.call(third, "POST", "/v1/logout")[0], 200, "in the browser, too")
        self.assertEqual(self.call(third, "GET", "/v1/me")[0], 401)
        self.assertEqual(self.rows(verb="logOut")[-1]["via"], "ticket")


class Redaction(AuditTest):
    def test_values_are_only_for_the_owner(self):
        values = {"API_TOKEN": "v" + secrets.token_hex(12), "PLAIN": "v" + secrets.token_hex(12)}
        job = self.job_of("ann", "echo hello; false", env=values, name="secretive", retries=0)
        self.wait_over(job, "failed")
        again = json.loads(self.call("ann", "POST", f"/v1/jobs/{job}/retry")[1])["id"]
        waiting = self.job_of("ann", "true", env=values, hold=True)
        self.call("ann", "POST", "/v1/plan", {"command": "true", "cwd": "/", "env": values})
        self.wait_over(again, "failed")
        seen = []
        for who in ("ann", "bob", "olga"):
            for path in self.paths(job, waiting):
                seen.append((who, path, self.call(who, "GET", path)[1]))
        for verb in (("status", job), ("status", "--json", job), ("queue", "--all", "--json"), ("why", waiting),
                     ("why", "--json", waiting), ("eta", waiting), ("events", "--json"), ("logs", job),
                     ("nodes",), ("tenants",), ("top", "--json"), ("audit", "--json"), ("retry", job),
                     ("retry", "--json", job), ("profile", "--list"), ("plan", "--", "true")):
            process = self.daemon.verb(*verb)
            out, err = process.communicate(timeout=PATIENCE)
            seen.append(("cli", verb, (out + err).decode()))
        wrong = [{"env": {"A": values["PLAIN"] + "\0"}}, {"env": values["PLAIN"]}, {"env": [values["PLAIN"]]},
                 {"env": {"MUSTER_X": values["PLAIN"]}}, {"env": {"A-B": values["PLAIN"]}}]
        for request in wrong:
            status, text = self.call("ann", "POST", "/v1/jobs", {"command": "true", **request})
            self.assertEqual(status, 400, text)
            seen.append(("ann", request, text))
        seen.append(("log", "serve.log", self.daemon.log()))
        for who, what, text in seen:
            for value in values.values():
                self.assertNotIn(value, text, (who, what))
        status = next(text for who, what, text in seen if who == "cli" and what == ("status", job))
        self.assertIn("API_TOKEN=*** PLAIN=***", status)
        self.check_owner(job, values)

    def paths(self, job, waiting):
        for each in (job, waiting):
            for more in ("", "/page", "/why", "/events", "/log"):
                yield f"/v1/jobs/{each}{more}"
        yield from ("/v1/jobs?state=all&counts=1", "/v1/events", "/v1/fleet", "/v1/nodes", "/v1/tenants",
                    "/v1/profiles", "/v1/timeline", "/v1/usage", "/v1/audit", "/metrics", "/v1/me",
                    "/v1/whatif?policy=srtf", "/openapi.json", "/")

    def check_owner(self, job, values):
        status, text = self.call("ann", "GET", f"/v1/jobs/{job}?show_env=1")
        self.assertEqual((status, json.loads(text)["request"]["env"]), (200, values))
        for who, wanted in (("olga", 403), ("bob", 404)):
            status, text = self.call(who, "GET", f"/v1/jobs/{job}?show_env=1")
            self.assertEqual(status, wanted, who)
            self.assertNotIn(values["PLAIN"], text)
        self.assertEqual(self.wait_rows(1, user="olga", verb="showJob")[-1]["status"], 403)
        self.daemon.muster("status", "--show-env", job, status=1)  # An operator.
        mine = self.daemon.json("submit", "--env", "PLAIN=" + values["PLAIN"], "--", "true")["id"]
        self.assertNotIn(values["PLAIN"], self.daemon.muster("status", mine)[0])
        self.assertIn("PLAIN=" + values["PLAIN"], self.daemon.muster("status", "--show-env", mine)[0])


if __name__ == "__main__":
    live_daemon.main(__doc__)
