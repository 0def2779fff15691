#!/usr/bin/env python3
"""muster view: opens runs, a sweep, a study and a trace from one directory and reads them over HTTP
like a browser; Ctrl-C ends it.

usage: view_test.py MUSTER
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import api_schema

MUSTER = ""


class Page:
    """A running `muster view`."""

    def __init__(self, *words):
        self.process = subprocess.Popen([MUSTER, "view", *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline().strip()
        self.address, _, self.ticket = line.partition("#ticket=")

    def get(self, path, ticket=None):
        request = urllib.request.Request(self.address + path)
        request.add_header("Authorization", "Bearer " + (ticket or self.ticket))
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            text = answer.read()
            # Calls that only a manager supports also return 404.
            api_schema.check("GET", f"/{path}", answer.status, answer.headers["Content-Type"], text,
                             also=[404])
            return answer.status, json.loads(text)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        return status


class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.scratch.name)
        cls.run_muster("trace", "generate", "--jobs", "60", "--gpu-mix", "multi", "--out",
                       "jobs.csv")
        cls.run_muster("sim", "--trace", "jobs.csv", "--cluster", "2x8", "--policy", "fifo,las",
                       "--round", "300s", "--out", "all/runs")
        (cls.dir / "grid.yaml").write_text("sim:\n  trace: jobs.csv\n  cluster: 2x8\n"
                                           "  policy: [fifo, srtf]\n")
        cls.run_muster("sweep", "grid.yaml", "--out", "sweep")
        cls.run_muster("analyze", "jobs.csv", "--out", "study")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def run_muster(cls, *words):
        subprocess.run([MUSTER, *words], cwd=cls.dir, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)

    def path(self, name):
        return str(self.dir / name)

    def test_opens_everything_muster_writes(self):
        page = Page(*(self.path(name) for name in ("all/runs", "sweep", "study", "jobs.csv")))
        self.addCleanup(page.process.kill)
        status, me = page.get("v1/me")
        self.assertEqual(status, 200)
        self.assertEqual(me["mode"], "view")
        self.assertEqual(me["screens"], ["compare", "timeline", "tenants", "pages"])
        items = page.get("v1/runs")[1]["items"]
        self.assertEqual([item["kind"] for item in items], ["run", "run", "sweep", "page", "page"])
        for item in items[2:]:
            status, shown = page.get(f"v1/pages/{item['key']}")
            self.assertEqual(status, 200, item)
            self.assertTrue(shown["sections"], item)

        timeline = page.get("v1/timeline?run=1")[1]
        bars = timeline["bars"]
        self.assertEqual(len({len(column) for column in bars.values()}), 1)
        self.assertEqual(max(bars["row"]), 15)
        self.assertEqual(len(timeline["jobs"]["id"]), 60)
        self.assertEqual(timeline["gpus"], 16)
        begin = page.get(f"v1/timeline?run=1&to={timeline['to'] / 20}")[1]
        self.assertLess(len(begin["bars"]["row"]), len(bars["row"]))
        usage = page.get("v1/usage?run=0&points=10")[1]
        self.assertEqual(len(usage["tenants"][0]["used"]), 10)
        compared = page.get("v1/compare?runs=0,1&baseline=1")[1]
        self.assertEqual(compared["title"], "2 simulated runs")

        self.assertEqual(page.get("v1/jobs")[0], 404)
        self.assertEqual(page.get("v1/me", "somebody")[0], 401)
        self.assertEqual(page.end(), 0)

    def test_only_answers_as_in_the_schema_pass(self):
        good = {"items": [{"key": 0, "kind": "run", "name": "a", "about": "b"}]}
        item = good["items"][0]

        def check(answer, status=200, kind="application/json"):
            api_schema.check("GET", "/v1/runs?x=1", status, kind, json.dumps(answer))
        check(good)
        check({"error": "no"}, 404)
        for answer, status, kind in (
                ({**good, "more": 1}, 200, "application/json"),
                ({"items": [{**item, "more": 1}]}, 200, "application/json"),
                ({"items": [{**item, "key": "0"}]}, 200, "application/json"),
                ({"items": [{"key": 0}]}, 200, "application/json"),
                (good, 201, "application/json"), (good, 200, "text/plain"),
                ({"error": "no", "more": 1}, 404, "application/json")):
            with self.assertRaises(AssertionError, msg=answer):
                check(answer, status, kind)

    def test_takes_another_port_if_its_own_is_taken(self):
        first, second = Page(self.path("study")), Page(self.path("study"))
        for page in (first, second):
            self.addCleanup(page.process.kill)
        self.assertNotEqual(first.address, second.address)
        self.assertEqual(second.get("v1/me")[1]["screens"], ["pages"])
        port = first.address.rstrip("/").rpartition(":")[2]
        asked = subprocess.run([MUSTER, "view", self.path("study"), "--port", port],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual(asked.returncode, 1)
        self.assertIn("Address already in use", asked.stderr)
        self.assertEqual([first.end(), second.end()], [0, 0])

    def test_says_which_file_is_wrong(self):
        (self.dir / "bad.json").write_text("{}")
        (self.dir / "empty").mkdir(exist_ok=True)
        for name, what in (("none", "none: no such file or directory"),
                           ("bad.json", "bad.json: not a page"),
                           ("grid.yaml", "grid.yaml"), ("empty", "empty: contains no run")):
            asked = subprocess.run([MUSTER, "view", self.path(name)], capture_output=True,
                                   text=True, timeout=60)
            self.assertEqual(asked.returncode, 2, name)
            self.assertIn(what, asked.stderr)
            self.assertEqual(asked.stderr.count("\n"), 1, asked.stderr)


if __name__ == "__main__":
    MUSTER = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
