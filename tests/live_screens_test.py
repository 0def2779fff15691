#!/usr/bin/env python3
"""The API calls of the dashboard, with a live manager and real jobs.

    tests/live_screens_test.py MUSTER TRAINER [TEST...]
"""

import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, Programs, until  # noqa: E402

BUSY = "while :; do :; done"


class Screens(LiveTest):
    def test_who_and_what(self):
        me = self.daemon.get("/v1/me")
        self.assertEqual((me["mode"], me["operator"]), ("live", True))
        self.assertIn(f"muster {me['version']}\n", self.daemon.muster("--version")[0])
        self.assertLess(abs(me["now"] - time.time()), 60)
        self.submit("--", "true")
        until("it has been told of", lambda: self.daemon.get("/v1/me")["last_event"] >
              me["last_event"])

    def test_the_parts_are_those_of_the_command_line(self):
        parts = self.daemon.get("/v1/parts")
        listed = [f"{part['name']} {part['about']}" for kind in
                  ("policies", "mechanisms", "placements", "presets") for part in parts[kind]]
        lines = [" ".join(line.split()) for line in self.daemon.muster("policies")[0].splitlines()]
        self.assertEqual(listed, [line for line in lines if " " in line.strip("- ")])

    def test_calls_that_no_screen_makes_answer_as_in_the_schema(self):
        request = {"command": ["true"], "cwd": str(self.daemon.work)}
        for status in (201, 200):
            self.assertEqual(self.daemon.ask("POST", "/v1/jobs", request,
                                             {"Idempotency-Key": "one"})[0], status)
        self.wait_over(1)
        self.assertEqual(self.daemon.post("/v1/jobs/1/retry"), {"id": 2, "of": 1})
        name = self.daemon.get("/v1/nodes")["nodes"][0]["name"]
        self.assertFalse(self.daemon.post(f"/v1/nodes/{name}/drain")["open"])
        self.assertTrue(self.daemon.post(f"/v1/nodes/{name}/undrain")["open"])
        self.assertEqual(self.daemon.get("/v1/tenants")["tenants"][0]["name"], "default")
        self.daemon.post("/v1/ticket")
        self.daemon.post("/v1/profiles", {"name": "net", "command": ["true"], "gpus": 1,
                                          "points": [[1000, 10, 0.1], [2000, 15, 0.1]]})
        self.assertIn("/v1/parts", self.daemon.get("/openapi.json")["paths"])
        self.assertIn("muster_decisions", self.daemon.ask("GET", "/metrics")[1])

    def test_the_fleet_shows_who_is_busy(self):
        job = self.submit("--name", "busy", "--", "sh", "-c", BUSY)
        lazy = self.submit("--name", "lazy", "--", "sleep", "600")
        self.wait_state(job, "running")
        self.wait_state(lazy, "running")

        def used():
            fleet = self.daemon.get("/v1/fleet")
            uses = {}
            for node in fleet["nodes"]:
                for which, use in zip(node["gpus"], node.get("use", [])):
                    if which >= 0:
                        uses[fleet["jobs"][which]["name"]] = use
            return uses

        def seen():
            uses = used()
            return uses if len(uses) == 2 and None not in uses.values() else None

        uses = until("both have been looked at twice", seen, timeout=120)
        fleet = self.daemon.get("/v1/fleet")
        self.assertEqual(fleet["use_of"], "cpu")
        self.assertGreater(uses["busy"], 0.1)
        self.assertLess(uses["lazy"], 0.1)
        self.assertEqual(fleet["totals"]["used"], 2)
        self.assertEqual(sum(fleet["totals"][key] for key in
                             ("used", "free", "reserved", "closed", "others")),
                         fleet["totals"]["gpus"])

    def test_the_page_of_a_job_that_trains(self):
        job = self.submit("--name", "net", "--", Programs.trainer, "--steps", "400",
                          "--report-every", "5")
        until("it has reported", lambda: self.daemon.get(f"/v1/jobs/{job}/page")["progress"]["at"])
        self.wait_over(job)
        page = self.daemon.get(f"/v1/jobs/{job}/page")
        progress = page["progress"]
        self.assertEqual(page["actions"], ["retry"])
        self.assertEqual({len(column) for column in progress.values()}, {len(progress["at"])})
        self.assertEqual(progress["at"], sorted(progress["at"]))
        lease = page["job"]["leases"][0]
        self.assertGreaterEqual(progress["at"][0], lease["started"])
        self.assertLessEqual(progress["at"][-1], lease["ended"])
        self.assertEqual(max(step for step in progress["step"] if step is not None), 400)
        again = self.daemon.json("retry", job)
        self.assertEqual(again["of"], job)
        self.wait_over(again["id"])
        self.assertEqual(self.daemon.job(again["id"])["request"], page["job"]["request"])
        self.daemon.muster("retry", "99", status=1)

    def test_the_queue_is_searched_counted_and_foretold(self):
        gpus = self.daemon.get("/v1/fleet")["totals"]["gpus"]
        runs = self.submit("--gpus", str(gpus), "--estimate", "10m", "--", "sleep", "600")
        self.wait_state(runs, "running")
        names = ["alpha", "Beta", "betamax"]
        jobs = [self.submit("--name", name, "--estimate", "5m", "--", "true") for name in names]
        find = "/v1/jobs?search=beta&sort=name&order=desc&counts=1&state=all"
        self.assertEqual([each["id"] for each in self.daemon.get(find)["jobs"]],
                         [jobs[2], jobs[1]])
        self.assertEqual(self.daemon.get(find)["counts"], {"queued": 2})
        until("starts are foretold",
              lambda: all("eta" in each for each in self.daemon.get(find)["jobs"]))
        for each in self.daemon.get(find)["jobs"]:
            self.assertLessEqual(each["eta"]["soonest"], each["eta"]["likely"])
        # The page of a job and the list show one forecast. It may change between two requests.
        def agree():
            listed = {each["id"]: each["eta"] for each in self.daemon.get(find)["jobs"]}
            return all(self.daemon.get(f"/v1/jobs/{job}/why")["eta"][end] == listed[job][end]
                       for job in listed for end in ("soonest", "likely", "latest"))
        until("list and page show the same forecast", agree, timeout=15)
        self.assertEqual([each["position"] for each in self.daemon.get(find)["jobs"]], [3, 2])


if __name__ == "__main__":
    live_daemon.main(__doc__)
