"""A state directory of a live manager for tests. Starts and kills the daemon, sends requests, and
runs muster-invariants on the result.

    with Home(muster, invariants) as home:
        home.start()
        home.submit("key-1", beats=3)
        home.kill()
        home.check()
"""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

import api_schema
from live_daemon import UnixConnection

OVER = ("done", "failed", "cancelled", "rejected")
# Appends lines to $RUNS while it runs, with times of the shims' clock. With $WAIT_FOR it runs until
# that file exists.
JOB = """
say() {
  read up rest < /proc/uptime
  echo "$1 $MUSTER_JOB $MUSTER_EPOCH $RANK $$ ${up%.*}${up#*.}0000" >> "$RUNS"
}
say start
i=0
while [ $i -lt $BEATS ]; do sleep 0.05; say beat; i=$((i + 1)); done
while [ -n "$WAIT_FOR" ] && [ ! -e "$WAIT_FOR" ]; do sleep 0.05; say beat; done
say end
"""
CONFIG = """
nodes:
  - {name: left, gpus: 2, cpus: 2, mem: 1}
  - {name: right, gpus: 2, cpus: 2, mem: 1}
scheduler: {policy: fifo}
grace: 1s
progress_every: 500ms
cgroup: none
"""


class NotThere(Exception):
    """No manager answered."""


class Home:
    def __init__(self, muster, invariants, config=CONFIG):
        self.muster, self.invariants = muster, invariants
        self.scratch = tempfile.TemporaryDirectory(prefix="muster-", ignore_cleanup_errors=True)
        self.base = pathlib.Path(self.scratch.name)
        self.path = self.base / "home"
        self.path.mkdir(mode=0o700)
        self.runs, self.acknowledged = self.base / "runs", self.base / "acknowledged"
        self.runs.touch()
        self.acknowledged.touch()
        self.log = self.base / "daemon.log"
        self.daemon = None
        self.lock = threading.Lock()
        self.configure(config)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        for pid in self.shims().values():
            with contextlib.suppress(ProcessLookupError):  # It has already ended.
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)  # Their ranks end with them.
        self.scratch.cleanup()

    def configure(self, text):
        (self.path / "config.yaml").write_text(text)

    # The daemon.

    def spawn(self, before=()):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        with open(self.log, "ab") as log:
            self.daemon = subprocess.Popen([*before, self.muster, "serve", "--home", self.path],
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           env=kept, start_new_session=True)

    def start(self, before=(), wait=120):
        self.spawn(before)
        until = time.monotonic() + wait
        while not self.serves():
            assert self.daemon.poll() is None, "the daemon ended:\n" + self.said()
            assert time.monotonic() < until, "the daemon does not serve:\n" + self.said()
            time.sleep(0.02)

    def serves(self):
        try:
            return self.ask("GET", "/healthz", timeout=30)[0] == 200
        except NotThere:
            return False

    def end(self, number, wait=60):
        """Sends this signal and returns the exit status."""
        if self.daemon is None:
            return None
        self.daemon.send_signal(number)
        status = self.daemon.wait(wait)
        self.daemon = None
        return status

    def kill(self):
        if self.daemon is not None and self.daemon.poll() is None:
            os.killpg(self.daemon.pid, signal.SIGKILL)  # Includes a tracer, if there is one.
        if self.daemon is not None:
            self.daemon.wait(60)
        self.daemon = None

    def said(self):
        return self.log.read_text(errors="replace")[-4000:]

    # Requests of clients.

    def ask(self, method, target, body=None, headers=(), timeout=60):
        connection = UnixConnection(self.path / "muster.sock", timeout)
        try:
            text = None if body is None else json.dumps(body)
            kind = {"Content-Type": "application/json"} if text else {}
            connection.request(method, target, text, {**kind, **dict(headers)})
            answer = connection.getresponse()
            text = answer.read()
            api_schema.check(method, target, answer.status, answer.headers["Content-Type"], text)
            return answer.status, json.loads(text or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NotThere(str(error)) from error
        finally:
            connection.close()

    def request(self, beats=3, wait_for="", **more):
        return {"name": "beats", "command": ["/bin/sh", "-c", JOB], "cwd": str(self.base),
                "env": {"RUNS": str(self.runs), "BEATS": str(beats), "WAIT_FOR": str(wait_for)},
                **more}

    def submit_once(self, key, beats=3, **more):
        """Returns status and body. Writes ids to the file of acknowledged submissions."""
        status, body = self.ask("POST", "/v1/jobs", self.request(beats, **more),
                                {"Idempotency-Key": key})
        if status in (200, 201):
            with self.lock, open(self.acknowledged, "a", encoding="utf-8") as out:
                for index, number in enumerate(body["ids"]):
                    out.write(f"{number} {key}/{index}\n")
        return status, body

    def submit(self, key, beats=3, over=threading.Event(), **more):
        """Retries until there is an answer and returns the id; None if `over` is set before."""
        until = time.monotonic() + 120
        while time.monotonic() < until and not over.is_set():
            try:
                status, body = self.submit_once(key, beats, **more)
            except NotThere:
                time.sleep(0.02)
                continue
            assert status in (200, 201), (status, body)
            return body["id"]
        return None

    def job(self, number):
        return self.ask("GET", f"/v1/jobs/{number}")[1]

    def active(self):
        return self.ask("GET", "/v1/jobs?limit=1000")[1]["jobs"]

    def wait_for(self, number, states, wait=120):
        until = time.monotonic() + wait
        while True:
            job = self.job(number)
            if job.get("state") in states:
                return job
            assert time.monotonic() < until, (states, job, self.said())
            assert job.get("state") not in OVER, (states, job, self.said())
            time.sleep(0.02)

    def wait_until_idle(self, wait=240):
        until = time.monotonic() + wait
        while jobs := self.active():
            assert time.monotonic() < until, (jobs, self.said())
            time.sleep(0.05)
        nodes = self.ask("GET", "/v1/nodes")[1]["nodes"]
        leaked = [n for n in nodes if n["gpus_free"] != n["gpus"] or n["jobs"]]
        assert not leaked, leaked

    # Processes and files.

    def shims(self):
        """Returns the process ids of running shims, by lease name."""
        found = {}
        for started in self.path.glob("leases/*/started.json"):
            try:
                pid = json.loads(started.read_text())["pid"]
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except (OSError, ValueError):
                continue
            if len(words) > 1 and words[1] == os.fsencode(started.parent):
                found[started.parent.name] = pid
        return found

    def check(self):
        """Runs muster-invariants and returns its single line; fails if an invariant is violated."""
        done = subprocess.run([self.invariants, self.path, self.acknowledged, self.runs],
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + "\n" + self.said()
        return done.stdout.strip()
