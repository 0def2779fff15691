"""A live manager for tests with real jobs. It starts on demand in a temporary state directory. The
cleanup always ends it and all processes of its jobs.

    class SomeTest(LiveTest):
        CONFIG = {"grace": "1s"}
        def test_it(self):
            job = self.submit("--", "sleep", "1")
            self.wait_over(job)

Commands run the program (`muster`, `submit`). Polling uses the socket directly (`get`, `job`,
`wait_state`), because it is frequent. use_programs() sets the programs under test.
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
# Timeout in seconds for things that usually take a moment. It is long because the machine may be
# busy, and only a failing test waits this long.
PATIENCE = 120
NOBODY = 65534  # A user without rights.
# A command that runs until the test creates the file `go` in the jobs' directory.
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
    """Whether the program was built with sanitizers, which need more time and memory."""
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
    """Waits until `check` returns a true value and returns it. `what` is for the error message."""
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
    """Returns a file of /proc, or nothing if the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


class Daemon:
    """`muster serve` in a separate state directory. All commands run as the user id `as_user`."""

    def __init__(self, config=None, as_user=None):
        self.as_user = as_user
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="muster-live-"))
        self.home = self.base / "home"
        self.work = self.base / "work"  # The working directory of jobs.
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
        """Copies the programs to a place where any user can run them."""
        here = self.base / "bin"
        here.mkdir()
        muster = pathlib.Path(Programs.muster)
        shutil.copy(muster.parent / "muster-shim", here)
        return shutil.copy(muster, here)

    # ---- start and stop

    def config(self, config):
        """Writes the configuration file (JSON is valid YAML), which is read at the start."""
        (self.home / "config.yaml").write_text(json.dumps(config))

    def give(self, path):
        """Makes the manager's user the owner of a file that the test has written."""
        if self.as_user is not None:
            os.chown(path, self.as_user, self.as_user)

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        # Frees memory early, so that memory figures are comparable with and without sanitizers.
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
        """Ends the manager, but not its jobs. Returns the exit status."""
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
        """Ends the manager and its jobs, and removes all files."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

        def gone():
            for lease in sorted((self.home / "leases").glob("*/ctl")):
                self.tell_shim(lease.parent.name, {"do": "kill"}, quiet=True)
            return not self.processes()  # A shim that has just started listens a moment later.
        try:
            until("the jobs are gone", gone, timeout=5)
        except AssertionError:
            pass
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.base, ignore_errors=True)

    # ---- processes and files

    def shims(self):
        """Returns the process ids of this manager's shims, by lease name."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            words = proc(pid, "cmdline").split(b"\0")
            if words[0].endswith(b"muster-shim") and len(words) > 1:
                path = pathlib.Path(os.fsdecode(words[1]))
                if self.home in path.parents:
                    found[path.name] = int(pid)
        return found

    def processes(self):
        """Returns all processes of this manager's jobs and their shims."""
        mark = b"MUSTER_PROGRESS=" + os.fsencode(self.home) + b"/"
        jobs = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
                if mark in proc(pid, "environ")]
        return [*self.shims().values(), *jobs]

    def record(self, lease, name):
        """Returns a file of the record directory of a lease, such as ("j1.e1", "started.json")."""
        return self.home / "leases" / lease / name

    def tell_shim(self, lease, what, quiet=False):
        with socket.socket(socket.AF_UNIX) as shim:
            shim.settimeout(5 if quiet else PATIENCE)
            here = os.open(self.record(lease, ""), os.O_RDONLY)  # The path may be too long.
            try:
                if self.as_user is not None:
                    os.seteuid(self.as_user)  # A shim refuses other users, also root.
                try:
                    shim.connect(f"/proc/self/fd/{here}/ctl")
                finally:
                    if self.as_user is not None:
                        os.seteuid(0)
                shim.sendall(json.dumps(what).encode() + b"\n")
                return json.loads(shim.makefile().readline())
            except (OSError, ValueError):
                if not quiet:
                    raise
            finally:
                os.close(here)

    def status_of(self, name):
        """Returns a number of /proc/PID/status, such as VmRSS in kB."""
        for line in proc(self.process.pid, "status").decode().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
        raise AssertionError(f"no {name}")

    def cpu_seconds(self):
        fields = proc(self.process.pid, "stat").decode().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # ---- requests

    def ask(self, method, path, body=None, headers=None, connection=None):
        """Returns status, text and headers of a call, validated against the schema."""
        connection = connection or UnixConnection(self.home / "muster.sock")
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
        """Starts a command of the program."""
        return self.spawn([self.program, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=self.environment(**env))

    def muster(self, *words, status=0, timeout=PATIENCE):
        """Runs a command and returns its standard output and standard error."""
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

    def shared_with(self, config=None, start=True):
        """A manager for several users, whose jobs share one account. Root must not share its
        account, so root starts it as the user `nobody`."""
        as_user = NOBODY if os.geteuid() == 0 else None
        if as_user is not None and not shutil.which("setpriv"):
            self.skipTest("needs setpriv to start a manager as another user")
        return self.daemon_with({"jobs_share_account": "accepted", **(config or {})}, as_user, start)

    @functools.cached_property
    def daemon(self):
        return self.daemon_with(self.CONFIG)

    def go(self, daemon=None):
        """Lets the jobs continue that wait at the GATE."""
        ((daemon or self.daemon).work / "go").touch()

    def submit(self, *words, daemon=None):
        """Submits a job with the program and returns the id of the (first) job."""
        submitted = (daemon or self.daemon).json("submit", *words)
        return submitted["id"]

    def post_job(self, command, daemon=None, **request):
        """Like submit, but without a process; for many jobs."""
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
        """Returns the events of a job in order."""
        return [event["kind"] for event in self.daemon.get(f"/v1/events?limit=1000")["events"]
                if event.get("job") == job]
