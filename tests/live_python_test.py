#!/usr/bin/env python3
"""The Python library with a real manager: its client, and a job that uses it and is stopped and
resumed.

    tests/live_python_test.py MUSTER TRAINER [TEST...]
"""

import json
import os
import pwd
import pathlib
import re
import subprocess
import sys
from unittest import mock

sys.dont_write_bytecode = True  # Leave no files in the source tree.
LIBRARY = pathlib.Path(__file__).resolve().parents[1] / "python"
sys.path.insert(0, str(LIBRARY))
import live_daemon  # noqa: E402
from live_daemon import GATE, LiveTest, until  # noqa: E402
import muster  # noqa: E402

# Ten epochs of ten batches; each batch writes a line to `done`.
SCRIPT = """
import json, muster, time
saved = muster.resume("run", json.load)
loader = muster.Loader(range(10), saved and saved["at"], report_every=0)
print("lease", muster.current_lease().epoch, "rank", muster.rank(), "of", muster.world_size())
for epoch in loader.epochs(10):
    for batch in loader:
        time.sleep(0.02)
        open("done", "a").write(f"{epoch} {batch}\\n")
        loader.report(loss=1 / loader.step)
    with muster.checkpoint("run") as file:
        file.write(json.dumps({"at": loader.state()}).encode())
"""
# Saves, waits until the next lease has saved, and then tries again.
LOST = """
import muster, os, time
def save():
    with muster.checkpoint("run") as file: file.write(b"of lease %d" % epoch)
    open(str(epoch), "w").close()
    print("saved", flush=True)
def wait(name):
    while not os.path.exists(name): time.sleep(0.02)
epoch = muster.current_lease().epoch
muster.claim("run")
save()
wait("2" if epoch == 1 else "go")
try:
    save()
except muster.StaleLease as error:
    print(error, flush=True)
"""


class PythonTest(LiveTest):
    CONFIG = {"virtual_gpus": 1, "cgroup": "none",
              "scheduler": {"policy": "srtf", "estimates": "user", "min_run": "0s"}}

    @property
    def client(self):
        return muster.Client(str(self.daemon.home / "muster.sock"))

    def run_script(self, script, **request):
        env = {"PYTHONPATH": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1"}
        return self.client.submit([sys.executable, "-u", "-c", script], cwd=str(self.daemon.work),
                                  env=env, **request)


class Client(PythonTest):
    def test_submit_wait_and_logs(self):
        job = self.client.submit("echo one; echo two", name="echo", cwd=str(self.daemon.work))
        done = self.client.wait(job, timeout=100)
        self.assertEqual((done["state"], done["name"]), ("done", "echo"))
        self.assertEqual(self.client.logs(job), "one\ntwo\n")
        self.assertEqual(self.client.queue(), [])
        self.assertEqual([each["id"] for each in self.client.queue("all")], [job])
        self.assertIn("done", [event["kind"] for event in self.client.events(job)])

    def test_a_failed_job_is_waited_for_too(self):
        job = self.client.submit(["sh", "-c", "exit 3"], retries=0, cwd=str(self.daemon.work))
        self.assertEqual(self.client.wait(job)["state"], "failed")

    def test_the_same_key_submits_once(self):
        jobs = {self.client.submit("true", key="again", cwd=str(self.daemon.work))
                for _ in range(2)}
        self.assertEqual(len(jobs), 1)

    def test_why_eta_and_cancel(self):
        first = self.client.submit(GATE, cwd=str(self.daemon.work), estimate="1h")
        self.wait_state(first, "running")
        second = self.client.submit("true", cwd=str(self.daemon.work), estimate="2h")
        self.assertIn("0 of 1 are free", self.client.why(second)["why"])
        self.assertIn("likely", self.client.eta(second))
        self.assertIsNone(self.client.eta(first))
        self.assertEqual(self.client.plan("true", gpus=64)["verdict"], "never")
        with self.assertRaisesRegex(TimeoutError, f"job {second} is still queued after 0.1 s"):
            self.client.wait(second, timeout=0.1)
        self.assertEqual(self.client.cancel(second)["state"], "cancelled")
        self.client.cancel(first)
        self.assertEqual(self.client.wait(first)["state"], "cancelled")

    def test_an_array(self):
        ids = self.client.submit_array("echo $MUSTER_ARRAY_INDEX", "0-1", cwd=str(self.daemon.work))
        self.assertEqual([self.client.wait(job)["state"] for job in ids], ["done", "done"])
        self.assertEqual([self.client.logs(job) for job in ids], ["0\n", "1\n"])

    def test_output_is_followed_over_a_restart_of_the_manager(self):
        job = self.client.submit(f"echo begin; {GATE}; echo end", cwd=str(self.daemon.work))
        pieces = self.client.follow(job)
        self.assertEqual(next(pieces), "begin\n")
        self.daemon.kill()
        self.daemon.start()
        self.go()
        self.assertEqual("".join(pieces), "end\n")
        self.assertEqual(self.client.wait(job)["state"], "done")

    def test_refusals_are_in_the_managers_words(self):
        for call, status, words in ((lambda: self.client.status(99), 404, "99"),
                                    (lambda: self.client.submit("true", gpu=1), 400, "gpu")):
            with self.assertRaises(muster.MusterError) as caught:
                call()
            self.assertEqual(caught.exception.status, status)
            self.assertIn(words, str(caught.exception))

    def test_by_tcp_with_a_token(self):
        daemon = self.daemon_with({**self.CONFIG, "listen": {"tcp": "127.0.0.1:0",
                                                             "tokens": "tokens"}}, start=False)
        user = pwd.getpwuid(os.geteuid()).pw_name
        token = daemon.muster("token", user)[0].strip()
        daemon.start()
        port = re.search(r" and http://127\.0\.0\.1:(\d+)/$", daemon.log(), re.MULTILINE).group(1)
        server = {"MUSTER_SERVER": f"http://127.0.0.1:{port}", "MUSTER_HOME": str(daemon.work)}
        with mock.patch.dict(os.environ, {**server, "MUSTER_TOKEN": token}):
            client = muster.Client()
            job = client.submit("echo by TCP", cwd=str(daemon.work))
            self.assertEqual("".join(client.follow(job)), "by TCP\n")
            self.assertEqual(client.wait(job)["user"], user)
        with mock.patch.dict(os.environ, {**server, "MUSTER_TOKEN": ""}):
            with self.assertRaises(muster.MusterError) as caught:
                muster.Client().status(job)
            self.assertEqual(caught.exception.status, 401)


class Resumes(PythonTest):
    WHOLE = [f"{epoch} {batch}" for epoch in range(10) for batch in range(10)]

    def done(self):
        path = self.daemon.work / "done"
        return path.read_text().splitlines() if path.exists() else []

    def told(self, job, lease):
        text = self.daemon.record(f"j{job}.e{lease}", "progress.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def test_stopped_in_the_middle_of_epochs(self):
        """Stopped by an operator, and by the scheduler for a shorter job: no batch runs twice."""
        job = self.run_script(SCRIPT, estimate="1h")
        until("it is in its second epoch", lambda: len(self.done()) >= 13)
        self.client.hold(job)
        self.wait_state(job, "held")
        at = len(self.done())
        self.assertEqual(json.loads((self.daemon.work / "run").read_text())["at"]["step"], at)
        self.client.release(job)
        until("it goes on", lambda: len(self.done()) >= at + 13)
        short = self.client.submit("true", estimate="1s", cwd=str(self.daemon.work))
        self.assertEqual(self.client.wait(short)["state"], "done")
        done = self.client.wait(job)
        self.assertEqual((done["state"], done["leases_used"]), ("done", 3))
        self.assertIn("preempted", [event["kind"] for event in self.client.events(job)])
        self.assertEqual(self.done(), self.WHOLE)
        self.assertEqual("".join(self.client.follow(job, lease=2)), "lease 2 rank 0 of 1\n")
        self.assertEqual(done["progress"]["step"], 100)
        for lease in (1, 2, 3):
            told = self.told(job, lease)
            self.assertEqual(told[-1], {"saved": True})
            self.assertEqual(told[0]["total"], 100)

    def test_a_copy_the_manager_has_lost_cannot_save(self):
        """A process of lease 1 keeps running during lease 2, as on a disconnected node."""
        job = self.run_script(LOST)
        work = self.daemon.work
        until("the first lease has saved", (work / "1").exists)
        ordered = json.loads(self.daemon.record(f"j{job}.e1", "spec.json").read_text())
        copy = subprocess.Popen(
            [sys.executable, "-c", LOST], cwd=work, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(LIBRARY), "MUSTER_JOB": str(job),
                 "MUSTER_EPOCH": "1", "PYTHONDONTWRITEBYTECODE": "1",
                 "MUSTER_MANAGER": ordered["env"]["MUSTER_MANAGER"],
                 "MUSTER_PROGRESS": str(self.daemon.record(f"j{job}.e1", "progress.jsonl"))})
        self.addCleanup(copy.communicate)
        self.addCleanup(copy.kill)
        self.assertEqual(copy.stdout.readline(), "saved\n")
        self.client.hold(job)
        self.wait_state(job, "held")
        self.client.release(job)
        until("the second lease has saved", (work / "2").exists)
        self.assertEqual(copy.stdout.readline(),
                         f"{os.path.realpath(work)}/run now belongs to lease 2 of job {job}, so "
                         "this copy, lease 1, cannot save it; end this copy\n")
        self.assertEqual((work / "run").read_text(), "of lease 2")
        self.go()
        self.assertEqual(self.client.wait(job)["state"], "done")


if __name__ == "__main__":
    live_daemon.main(__doc__)
