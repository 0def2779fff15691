"""A live manager of a test's own, for tests with real jobs: started on demand in a scratch home,
and cleaned up whatever happens, with every process of its jobs.

    class SomeTest(LiveTest):
        CONFIG = {"grace": "1s"}
        def test_it(self):
            job = self.submit("--", "sleep", "1")
            self.wait_over(job)

Verbs go through the program (`muster`, `submit`); looking whether something has come about goes
straight to the socket (`get`, `job`, `wait_state`), since that is done often. Programs under test
are set by use_programs().
"""

import functools
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import api_schema

OVER = ("done", "failed", "cancelled", "rejected")
# Seconds until something that takes a moment is believed not to happen: the machine may be busy
# with other things, and only a test that fails waits so long.
PATIENCE = 120
# A command that goes on until its test has made the file `go` where jobs run.
GATE = "while [ ! -e go ]; do sleep 0.05; done"


class Programs:
    muster = ""
    trainer = ""


def use_programs(muster, trainer=""):
    Programs.muster = str(pathlib.Path(muster).resolve())
    Programs.trainer = str(pathlib.Path(trainer).resolve()) if trainer else ""


def main(doc):
    """tests/X.py MUSTER TRAINER [TEST...]"""
    if len(sys.argv) < 3:
        sys.exit(doc)
    use_programs(*sys.argv[1:3])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


@functools.cache
def sanitized():
    """Whether the program watches over itself, which takes time and memory of its own."""
    program = pathlib.Path(Programs.muster).read_bytes()
    return any(mark in program for mark in (b"__asan_init", b"__tsan_init"))


def two_nodes(gpus, mem):
    """A configuration of two nodes, each with a CPU per GPU and `mem` GiB of memory."""
    node = {"gpus": gpus, "cpus": gpus, "mem": mem}
    return {"nodes": [{"name": "left", **node}, {"name": "right", **node}],
            "cgroup": "none", "grace": "1s"}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=PATIENCE):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def until(what, check, timeout=PATIENCE, every=0.03):
    """What `check` returns, once that is anything; `what` is for the failure's message."""
    end = time.monotonic() + timeout
    while True:
        found = check()
        if found:
            return found
        if time.monotonic() > end:
            what = what() if callable(what) else what
            raise AssertionError(f"after {timeout:g} s still not: {what}")
        time.sleep(every)


def proc(pid, name):
    """A file of /proc, or nothing if the process is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


class Daemon:
    """`muster serve` in a home of its own; it and its verbs run as the (numeric) user `as_user`."""

    def __init__(self, config=None, as_user=None):
        self.as_user = as_user
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="muster-live-"))
        self.home = self.base / "home"
        self.work = self.base / "work"  # Where jobs run.
        for folder in (self.home, self.work):
            folder.mkdir(mode=0o700)
        self.program = Programs.muster
        if as_user is not None:
            for folder in (self.base, self.home, self.work):
                os.chown(folder, as_user, as_user)
            self.program = self.copy_programs()
        self.config(config or {})
        self.process = None

    def copy_programs(self):
        """Where any user may run them, which may not look into every build folder."""
        here = self.base / "bin"
        here.mkdir()
        muster = pathlib.Path(Programs.muster)
        shutil.copy(muster.parent / "muster-shim", here)
        return shutil.copy(muster, here)

    # ---- its life

    def config(self, config):
        """JSON is YAML too. Read when it starts."""
        (self.home / "config.yaml").write_text(json.dumps(config))

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        # What was freed is given back soon, so that figures of memory mean the same everywhere.
        asan = f"{kept.get('ASAN_OPTIONS', '')}:quarantine_size_mb=8".lstrip(":")
        return {**kept, "MUSTER_HOME": str(self.home), "TZ": "UTC", "ASAN_OPTIONS": asan, **more}

    def spawn(self, words, **more):
        if self.as_user is not None:
            words = ["setpriv", f"--reuid={self.as_user}", f"--regid={self.as_user}",
                     "--clear-groups", *words]
        return subprocess.Popen(list(map(str, words)), cwd=self.work, **more)

    def start(self):
        assert self.process is None
        log = open(self.base / "serve.log", "ab")
        self.process = self.spawn([self.program, "serve"], stdout=log, stderr=log,
                                  stdin=subprocess.DEVNULL, env=self.environment())
        log.close()
        until(lambda: f"the manager serves: {self.log()}", self.is_up)
        return self

    def is_up(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the manager ended with {self.process.returncode}: {self.log()}")
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def stop(self, how=signal.SIGTERM):
        """Ends the manager, not its jobs; its exit status."""
        self.process.send_signal(how)
        status = self.process.wait(timeout=PATIENCE)
        self.process = None
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

    def log(self):
        path = self.base / "serve.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def close(self):
        """Ends everything and leaves nothing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for lease in sorted((self.home / "leases").glob("*/ctl")):
            self.tell_shim(lease.parent.name, {"do": "kill"}, quiet=True)
        try:
            until("the jobs are gone", lambda: not self.processes(), timeout=5)
        except AssertionError:
            pass
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.base, ignore_errors=True)

    # ---- what is on the machine

    def shims(self):
        """Process ids of this manager's shims, by the names of their leases."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            words = proc(pid, "cmdline").split(b"\0")
            if words[0].endswith(b"muster-shim") and len(words) > 1:
                path = pathlib.Path(os.fsdecode(words[1]))
                if self.home in path.parents:
                    found[path.name] = int(pid)
        return found

    def processes(self):
        """Every process of this manager's jobs, and their shims."""
        mark = b"MUSTER_PROGRESS=" + os.fsencode(self.home) + b"/"
        jobs = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
                if mark in proc(pid, "environ")]
        return [*self.shims().values(), *jobs]

    def record(self, lease, name):
        """A file of a lease's record directory, such as ("j1.e1", "started.json")."""
        return self.home / "leases" / lease / name

    def tell_shim(self, lease, what, quiet=False):
        with socket.socket(socket.AF_UNIX) as shim:
            shim.settimeout(5 if quiet else PATIENCE)
            here = os.open(self.record(lease, ""), os.O_RDONLY)  # The path may be too long.
            try:
                shim.connect(f"/proc/self/fd/{here}/ctl")
                shim.sendall(json.dumps(what).encode() + b"\n")
                return json.loads(shim.makefile().readline())
            except (OSError, ValueError):
                if not quiet:
                    raise
            finally:
                os.close(here)

    def status_of(self, name):
        """A number of /proc/PID/status, such as VmRSS in kB."""
        for line in proc(self.process.pid, "status").decode().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
        raise AssertionError(f"no {name}")

    def cpu_seconds(self):
        fields = proc(self.process.pid, "stat").decode().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # ---- talking to it

    def ask(self, method, path, body=None, headers=None):
        """Status, text and headers of one call by the socket, validated against the schema."""
        connection = UnixConnection(self.home / "muster.sock")
        try:
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            kind = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body, {**kind, **(headers or {})})
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            api_schema.check(method, path, answer.status, answer.headers["Content-Type"], text)
            return answer.status, text, dict(answer.headers)
        finally:
            connection.close()

    def get(self, path):
        status, text, _ = self.ask("GET", path)
        assert status == 200, (path, status, text)
        return json.loads(text)

    def post(self, path, body=None):
        status, text, _ = self.ask("POST", path, body)
        assert status in (200, 201), (path, status, text)
        return json.loads(text)

    def job(self, job):
        return self.get(f"/v1/jobs/{job}")

    def verb(self, *words, **env):
        """A verb of the program, under way."""
        return self.spawn([self.program, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=self.environment(**env))

    def muster(self, *words, status=0, timeout=PATIENCE):
        """Runs a verb to its end; what it printed, and what it complained of."""
        process = self.verb(*words)
        out, err = [text.decode(errors="replace") for text in process.communicate(timeout=timeout)]
        assert process.returncode == status, f"{words}: {process.returncode}: {out}{err}"
        return out, err

    def json(self, verb, *words, **more):
        return json.loads(self.muster(verb, "--json", *words, **more)[0])


class LiveTest(unittest.TestCase):
    CONFIG = {}

    def setUp(self):
        self.all = []

    def tearDown(self):
        failed = any(error for _, error in getattr(self._outcome, "errors", [])) or \
            any(test is self for test, _ in getattr(self._outcome.result, "failures", [])) or \
            any(test is self for test, _ in getattr(self._outcome.result, "errors", []))
        for daemon in self.all:
            if failed:
                print(daemon.log(), file=sys.stderr)
            daemon.close()

    def daemon_with(self, config=None, as_user=None, start=True):
        daemon = Daemon({"grace": "2s", "progress_every": "100ms", **(config or {})}, as_user)
        self.all.append(daemon)
        return daemon.start() if start else daemon

    @functools.cached_property
    def daemon(self):
        return self.daemon_with(self.CONFIG)

    def go(self, daemon=None):
        """What waits at the GATE goes on."""
        ((daemon or self.daemon).work / "go").touch()

    def submit(self, *words, daemon=None):
        """The id of the (first) job."""
        submitted = (daemon or self.daemon).json("submit", *words)
        return submitted["id"]

    def post_job(self, command, daemon=None, **request):
        """As submit, without a process: where there are many."""
        daemon = daemon or self.daemon
        request = {"command": command, "cwd": str(daemon.work), **request}
        return daemon.post("/v1/jobs", request)["id"]

    def wait_state(self, job, *states, daemon=None, timeout=PATIENCE):
        daemon = daemon or self.daemon
        last = {}

        def there():
            last.update(daemon.job(job))
            if last["state"] in OVER and last["state"] not in states:
                raise AssertionError(f"job {job} is not {states} but: {last}")
            return last["state"] in states
        until(lambda: f"job {job} is {states}: {last}", there, timeout)
        return dict(last)

    def wait_over(self, job, state="done", daemon=None, timeout=PATIENCE):
        return self.wait_state(job, state, daemon=daemon, timeout=timeout)

    def output(self, job, lease=None, node=None, daemon=None):
        words = "&".join(f"{k}={v}" for k, v in (("lease", lease), ("node", node)) if v is not None)
        status, text, _ = (daemon or self.daemon).ask("GET", f"/v1/jobs/{job}/log?{words}")
        self.assertEqual(status, 200, text)
        return text

    def kinds(self, job):
        """What happened to a job, in order."""
        return [event["kind"] for event in self.daemon.get(f"/v1/events?limit=1000")["events"]
                if event.get("job") == job]
