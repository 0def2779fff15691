#!/usr/bin/env python3
"""Attacks on the rules of access: users who act as operators, as other users, in other tenants or
above their priority, and who read the files of the manager.

    tests/escape_access_test.py MUSTER TRAINER [TEST...]

The tests become other users by number, so they need root. The users have no names on this machine:
their number is their name.
"""

import json
import os
import shutil
import stat
import sys
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import NOBODY, LiveTest, until  # noqa: E402
from other_user import OtherUser  # noqa: E402

ANN, BOB, CARL, VERA, EVE, OLGA = range(65501, 65507)
REPLACEMENTS = ("'executor: slurm'", "'jobs_share_account: accepted'")


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                     "needs root and setpriv, to become other users")
class AccessTest(LiveTest):
    def open_socket(self, config):
        """Returns a configuration with a socket that other users can reach."""
        return {**config, "listen": {"socket": "../api.sock", "tcp": "none"}}

    def begin(self, daemon):
        """Starts the manager and finds its socket."""
        self.daemon = daemon
        self.socket = daemon.base / "api.sock"
        daemon.base.chmod(0o755)
        daemon.is_up = lambda: self.is_up(daemon)
        daemon.start()
        return daemon

    def is_up(self, daemon):
        if daemon.process.poll() is not None:
            raise AssertionError(f"the manager ended: {daemon.log()}")
        try:
            return self.call(0, "GET", "/healthz")[0] == 200
        except OSError:
            return False

    def call(self, uid, method, path, body=None, **headers):
        """Returns status and answer of a call of this user."""
        status, text, _ = self.daemon.ask(method, path, body, headers,
                                          OtherUser(uid, self.socket))
        return status, json.loads(text) if text.startswith("{") else text

    def submit_as(self, uid, command="true", status=201, **request):
        got, answer = self.call(uid, "POST", "/v1/jobs",
                                {"command": command, "cwd": str(self.daemon.work), **request})
        self.assertEqual(got, status, answer)
        return answer["id"] if status == 201 else answer["error"]

    def me(self, uid):
        return self.call(uid, "GET", "/v1/me")[1]


class Personal(AccessTest):
    def personal(self, config=None):
        return self.daemon_with(self.open_socket(config or {}), as_user=NOBODY, start=False)

    def test_only_its_user_and_root_may_call(self):
        self.begin(self.personal())
        self.assertIn("mode: personal: all jobs run as nobody, for nobody", self.daemon.log())
        with self.assertRaises(PermissionError):
            self.call(ANN, "GET", "/v1/me")
        self.socket.chmod(0o666)  # The mode of the socket is not the only obstacle.
        for path in ("/v1/me", "/v1/jobs", "/v1/nodes", "/metrics"):
            status, answer = self.call(ANN, "GET", path)
            self.assertEqual(status, 403, answer)
            for words in (*REPLACEMENTS, "every submitter acts as nobody"):
                self.assertIn(words, answer["error"])
        self.assertEqual(self.call(ANN, "POST", "/v1/jobs", {"command": "true"})[0], 403)
        me = self.me(NOBODY)
        self.assertEqual((me["manager_mode"], me["runs_as"], me["role"], me["uid"], me["user"]),
                         ("personal", "manager", "operator", NOBODY, "nobody"))
        self.assertNotIn("notice", me)
        self.assertEqual(self.me(0)["role"], "operator")
        nodes = self.call(NOBODY, "GET", "/v1/nodes")[1]["nodes"]
        self.assertEqual({node["runs_as"] for node in nodes}, {"manager"})
        self.assertIn('muster_mode{mode="personal"} 1', self.call(0, "GET", "/metrics")[1])
        self.assertIn("own account",
                      self.daemon.muster("nodes", "--server", self.socket)[0])

    def test_tokens_of_other_users_are_refused(self):
        daemon = self.daemon_with({"listen": {"tcp": "127.0.0.1:0", "tokens": "tokens"}},
                                  as_user=NOBODY, start=False)
        tokens = {user: daemon.muster("token", user, *more)[0].strip() for user, more in
                  (("nobody", ()), ("bob", ()), ("olga", ("--operator",)), ("root", ("--operator",)))}
        daemon.start()
        server = daemon.log().split(" and ")[-1].strip()
        daemon.muster("queue", "--server", server, status=1)
        for user, token in tokens.items():
            verb = daemon.verb("queue", "--server", server, MUSTER_TOKEN=token)
            err = verb.communicate()[1].decode()
            self.assertEqual(verb.returncode, 0 if user == "nobody" else 1, user + err)
            if user != "nobody":
                for words in REPLACEMENTS:
                    self.assertIn(words, err)

    def test_files_are_closed(self):
        daemon = self.begin(self.personal())
        job = self.submit_as(NOBODY, "true")
        until("it has ended", lambda: self.call(0, "GET", f"/v1/jobs/{job}")[1]["state"] == "done")
        for path in [daemon.home, *daemon.home.rglob("*")]:
            if path.name != "config.yaml" and not path.is_symlink():
                self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)
        check = f"import os; os.setuid({ANN}); open('{daemon.home}/journal.db')"
        done = os.system(f"{sys.executable} -c \"{check}\" 2>/dev/null")
        self.assertNotEqual(done, 0, "another user reads the journal")

    def refusal(self, config, as_user=None):
        daemon = self.daemon_with(config, as_user, start=False)
        err = daemon.muster("serve", "--check", status=2)[1]
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_keys_that_contradict_the_mode(self):
        for as_user, name in ((None, "root"), (NOBODY, "nobody")):
            err = self.refusal({"others": True}, as_user)
            self.assertIn(f"config.yaml:1: others: this manager runs all jobs as {name}", err)
            for words in REPLACEMENTS:
                self.assertIn(words, err)
        self.assertIn("jobs would run as root", self.refusal({"jobs_share_account": "accepted"}))
        self.assertIn("there is no launcher", self.refusal({"mode": "shared"}))
        daemon = self.daemon_with({}, start=False)
        self.assertIn("mode: personal: all jobs run as root, for root",
                      daemon.muster("serve", "--check")[0])

    def test_a_shared_directory_never_becomes_personal(self):
        daemon = self.daemon_with({})
        daemon.stop()
        path = daemon.home / "instance.json"
        kept = json.loads(path.read_text())
        self.assertEqual(kept["mode"], "personal")
        path.write_text(json.dumps({**kept, "mode": "shared"}))
        err = daemon.muster("serve", status=1)[1]
        self.assertIn("in mode 'shared', which this version cannot run", err)
        path.write_text(json.dumps(kept))
        daemon.start()


class Shared(AccessTest):
    """Users of two tenants, an admin, a viewer and an operator; jobs share the account `nobody`."""
    CONFIG = {
        "virtual_gpus": 4, "cgroup": "none", "grace": "1s",
        "operators": {"users": [str(OLGA)]},
        "viewers": {"users": [str(EVE)]},
        "tenants": {"list": [
            {"name": "vision", "quota": 2, "users": [str(ANN)], "admins": [str(VERA)]},
            {"name": "speech", "quota": 1, "users": [str(ANN), str(BOB)]},
            {"name": "guests", "quota": 1, "groups": ["*"]}]}}

    def shared(self, **more):
        return self.begin(self.shared_with(self.open_socket({**self.CONFIG, **more}), start=False))

    def state(self, job):
        return self.call(0, "GET", f"/v1/jobs/{job}")[1]["state"]

    def test_roles_and_the_notice(self):
        self.shared()
        roles = {uid: (me["role"], me["tenants"], me["admin_of"])
                 for uid in (ANN, BOB, CARL, VERA, EVE, OLGA) for me in [self.me(uid)]}
        self.assertEqual(roles, {
            ANN: ("user", ["vision", "speech", "guests"], []),
            BOB: ("user", ["speech", "guests"], []),
            CARL: ("user", ["guests"], []),
            VERA: ("admin", ["vision", "guests"], ["vision"]),
            EVE: ("viewer", ["guests"], []),
            OLGA: ("operator", ["guests"], [])})
        self.assertIn("mode: shared-account: all jobs run as nobody, for all users",
                      self.daemon.log())
        notice = "jobs_share_account: all jobs run as nobody, so every job can act as nobody"
        for path in ("/v1/me", "/v1/jobs", "/v1/nodes"):
            self.assertEqual(self.call(ANN, "GET", path)[1]["notice"], notice)
        for verb in ("queue", "nodes"):
            self.assertIn(notice, self.daemon.muster(verb, "--server", self.socket)[0])
        self.assertIn('muster_mode{mode="shared-account"} 1', self.call(ANN, "GET", "/metrics")[1])

    def test_44_another_tenant(self):
        self.shared()
        error = self.submit_as(BOB, tenant="vision", status=403)
        self.assertEqual(error, "tenant: you are not a member of 'vision'; "
                                "your tenants: speech, guests")
        self.assertIn("viewers cannot change anything", self.submit_as(EVE, status=403))
        plan = {"command": "true", "tenant": "vision"}
        self.assertEqual(self.call(BOB, "POST", "/v1/plan", plan)[0], 403)
        self.assertEqual(self.call(0, "GET", "/v1/jobs?state=all")[1]["jobs"], [])
        job = self.submit_as(BOB)  # The first of the tenants is the default.
        self.assertEqual(self.call(BOB, "GET", f"/v1/jobs/{job}")[1]["tenant"], "speech")
        job = self.submit_as(OLGA, tenant="vision")
        self.assertEqual(self.call(OLGA, "GET", f"/v1/jobs/{job}")[1]["user"], str(OLGA))

    def test_45_a_priority_above_the_range(self):
        self.shared()
        self.assertEqual(self.submit_as(ANN, priority=1, status=400),
                         "priority: 1 is outside your range, -100 to 0")
        self.assertEqual(self.submit_as(VERA, priority=101, status=400),
                         "priority: 101 is outside your range, -100 to 100")
        self.assertEqual(self.submit_as(VERA, priority=1, tenant="guests", status=400),
                         "priority: 1 is outside your range, -100 to 0")
        self.submit_as(ANN, priority=-100)
        self.submit_as(VERA, priority=100)
        self.submit_as(OLGA, priority=1000, tenant="guests")

    def test_46_a_hundred_thousand_jobs(self):
        self.shared(limits={"queued": 10_000, "per_user": 3_000})
        refused = 0
        for _ in range(100):
            status, answer = self.call(ANN, "POST", "/v1/jobs", {
                "command": "true", "hold": True, "array": "0-999"})
            if status == 429:
                self.assertIn("you have 3000 active jobs", answer["error"])
                refused += 1
            else:
                self.assertEqual(status, 201, answer)
        self.assertEqual(refused, 97)
        began = time.monotonic()
        job = self.submit_as(BOB)
        until("it is done", lambda: self.state(job) == "done")
        self.assertLess(time.monotonic() - began, 30)

    def test_1_the_api_as_an_operator(self):
        self.shared()
        job = self.submit_as(ANN, "sleep 600", name="annjob")
        until("it runs", lambda: self.state(job) == "running")
        node = self.call(0, "GET", "/v1/nodes")[1]["nodes"][0]["name"]
        for uid in (BOB, CARL, EVE):
            for path in (f"/v1/nodes/{node}/drain", f"/v1/jobs/{job}/cancel",
                         f"/v1/jobs/{job}/hold", f"/v1/jobs/{job}_*/cancel"):
                self.assertIn(self.call(uid, "POST", path)[0], (403, 404), path)
            self.assertEqual(self.call(uid, "GET", "/v1/whatif?policy=srtf")[0], 403)
            for path in ("", "/log", "/page", "/why"):
                self.assertEqual(self.call(uid, "GET", f"/v1/jobs/{job}{path}")[0], 404, path)
            for path in ("/v1/jobs?state=all", "/v1/events", "/v1/fleet", "/v1/timeline",
                         "/v1/usage", "/v1/nodes", f"/v1/jobs?state=all&user={ANN}"):
                text = json.dumps(self.call(uid, "GET", path)[1])
                self.assertNotIn("annjob", text, path)
                self.assertNotIn(str(ANN), text, path)
            other = {"command": "true", "after_ok": [job]}
            if uid != EVE:
                self.assertEqual(self.call(uid, "POST", "/v1/jobs", other)[0], 409)
        self.assertEqual(self.state(job), "running")
        # One account cannot prevent this: a job has the uid of the manager, which is an operator.
        escaped = self.submit_as(CARL, f"test -r {self.daemon.home}/journal.db")
        until("it has ended", lambda: self.state(escaped) in live_daemon.OVER)
        self.assertEqual(self.state(escaped), "done", "the stated risk of jobs_share_account")

    def test_admins_act_on_jobs_of_their_tenant_alone(self):
        self.shared()
        vision = self.submit_as(ANN, hold=True, name="seen")
        speech = self.submit_as(BOB, hold=True)
        self.assertEqual(self.call(VERA, "POST", f"/v1/jobs/{speech}/release")[0], 404)
        self.assertEqual([job["id"] for job in self.call(VERA, "GET", "/v1/jobs")[1]["jobs"]],
                         [vision])
        self.assertEqual(self.call(VERA, "POST", f"/v1/jobs/{vision}/release")[0], 200)
        until("it is done", lambda: self.state(vision) == "done")
        status, again = self.call(VERA, "POST", f"/v1/jobs/{vision}/retry")
        self.assertEqual(status, 201, again)
        retried = self.call(0, "GET", f"/v1/jobs/{again['id']}")[1]
        self.assertEqual((retried["user"], retried["tenant"]), (str(ANN), "vision"))
        self.assertEqual(self.call(ANN, "GET", f"/v1/jobs/{again['id']}")[0], 200)
        done = self.call(VERA, "GET", "/v1/jobs?state=done&counts=1")[1]
        self.assertIn(vision, [job["id"] for job in done["jobs"]])
        events = self.call(VERA, "GET", "/v1/events")[1]["events"]
        self.assertIn("seen", {event.get("name") for event in events})
        self.assertEqual({event.get("job") for event in events} & {speech}, set())

    def listed(self, uid, words="state=all"):
        return sorted(job["id"] for job in self.call(uid, "GET", f"/v1/jobs?{words}")[1]["jobs"])

    def test_visibility(self):
        daemon = self.shared(visibility="tenant")
        jobs = {uid: self.submit_as(uid, tenant=tenant, name=f"job-of-{uid}") for uid, tenant in
                ((ANN, "vision"), (BOB, "speech"), (CARL, "guests"))}
        for job in jobs.values():
            until("it is done", lambda: self.state(job) == "done")
        held = self.submit_as(BOB, hold=True)
        self.assertEqual(self.listed(ANN), sorted([*jobs.values(), held]))
        self.assertEqual(self.listed(BOB), [jobs[BOB], jobs[CARL], held])
        self.assertEqual(self.listed(CARL), [jobs[CARL]])
        self.assertEqual(self.listed(EVE), [jobs[CARL]])
        self.assertEqual(self.listed(ANN, f"state=all&user={BOB}"), [jobs[BOB], held])
        self.assertEqual(self.call(ANN, "GET", f"/v1/jobs/{jobs[BOB]}")[0], 200)
        for verb in ("cancel", "release"):
            status, answer = self.call(ANN, "POST", f"/v1/jobs/{held}/{verb}")
            self.assertEqual(status, 403, answer)
            self.assertIn("only its user, admins of its tenant and operators", answer["error"])
        self.assertEqual(self.call(ANN, "POST", f"/v1/jobs/{jobs[BOB]}/retry")[0], 403)
        self.assertEqual(self.call(ANN, "GET", f"/v1/jobs/{held}/page")[1]["actions"], [])
        names = {event.get("name") for event in self.call(BOB, "GET", "/v1/events")[1]["events"]}
        self.assertIn(f"job-of-{CARL}", names)
        self.assertNotIn(f"job-of-{ANN}", names)
        self.assertEqual(self.call(BOB, "GET", f"/v1/jobs/{jobs[ANN]}")[0], 404)
        for each in ("all", "own"):
            daemon.stop()
            daemon.config(self.open_socket({**self.CONFIG, "visibility": each,
                                            "jobs_share_account": "accepted"}))
            self.socket = daemon.base / "api.sock"
            daemon.start()
            self.assertEqual(self.listed(CARL),
                             sorted([*jobs.values(), held]) if each == "all" else [jobs[CARL]])

    def test_names_of_counted_jobs(self):
        for hide in (True, False):
            self.shared(hide_names=hide)
            job = self.submit_as(ANN, "sleep 600", name="annjob")
            until("it runs", lambda: self.state(job) == "running")
            self.assertEqual(self.call(BOB, "GET", f"/v1/jobs/{job}")[0], 404)
            shown = self.call(BOB, "GET", "/v1/fleet")[1]["jobs"]
            self.assertEqual([(each.get("name"), each.get("user")) for each in shown],
                             [(None, None)] if hide else [("annjob", str(ANN))])

    def test_users_are_numbers_not_names(self):
        self.shared()
        job = self.submit_as(ANN, hold=True)
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.listed(ANN), [job])
        self.assertEqual(self.call(ANN, "POST", f"/v1/jobs/{job}/cancel")[0], 200)


if __name__ == "__main__":
    live_daemon.main(__doc__)
