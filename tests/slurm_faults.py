"""A live manager on a real Slurm (slurm_bed.py), for tests of jobs when parts of Slurm or Muster
fail.

Hooks: after `manager.hook("after", "sbatch", SCRIPT)` the manager's next sbatch (or `scontrol
release`, or scancel) also runs SCRIPT once, before or after the real command. The output of the
command is in $out. So a test determines exactly when a fault happens. If a "before" script fails,
the command fails.

Jobs run WORKER, which appends a line to a journal for each action. `epochs()` checks from the order
of the lines that two copies of a rank can never write at the same time.
"""

import collections
import json
import os
import pathlib
import signal

import slurm_bed
from live_daemon import OVER, Daemon, LiveTest, proc, until

LONG = os.environ.get("MUSTER_LONG") == "1"

WRAPPER = """#!/bin/sh
name=${0##*/}
real=$(PATH=${PATH#*:}; command -v $name)
[ $name != scontrol ] || [ "$1" = release ] || exec $real "$@"
cd HOOKS
if mv before-$name did-before-$name 2>/dev/null; then
  sh did-before-$name >>log 2>&1 || { echo "$name: error: refused by a test" >&2; exit 1; }
fi
out=$($real "$@"); status=$?
[ -z "$out" ] || echo "$out"
export out
if mv after-$name did-after-$name 2>/dev/null; then sh did-after-$name >>log 2>&1; fi
exit $status
"""

# Ends with STATUS after BEATS beats, or when a file `go` exists.
WORKER = """#!/bin/sh
say() { echo "$MUSTER_JOB $RANK $MUSTER_EPOCH $$ $1" >> BASE/journal; }
trap 'say term; exit 143' TERM
say start
n=0
while [ $n -lt ${BEATS:-10} ] && [ ! -e BASE/go ] && [ ! -e BASE/go-$MUSTER_JOB ]; do
  sleep 0.1; say beat; n=$((n + 1))
done
say end
exit ${STATUS:-0}
"""


class FaultyBed(slurm_bed.Bed):
    """A testbed with faults and with external jobs."""

    def command(self, verb):
        """Returns a command of the tool as a line for a hook."""
        return f"{slurm_bed.TOOL} {verb} --dir={self.directory}"

    def crash(self):
        """Returns a line that kills the controller before it saves its state, and restarts it."""
        return f"kill -9 $(cat {self.directory}/slurmctld.pid); sleep 0.1; " \
               f"{self.command('start-ctld')}"

    def wait_saved(self, *leases):
        """Waits until the controller has saved these leases and so keeps them after a crash."""
        state = pathlib.Path(self.directory, "state", "job_state")
        until(f"Slurm has saved {leases}", lambda: state.exists() and all(
            f":{lease}:".encode() in state.read_bytes() for lease in leases), every=0.1)

    def stranger(self, *words):
        """Submits an external job and returns its id."""
        return self.run("sbatch", "--parsable", "-o", "/dev/null", "--mem=10", *words,
                        "--wrap", "exec sleep 300").strip()

    def row(self, number, words="%T"):
        return self.run("squeue", "-h", "--states=all", "-j", number, "-o", words).strip()


class SlurmDaemon(Daemon):
    def __init__(self, config=None, as_user=None):
        super().__init__(None, as_user)
        self.base.chmod(0o755)
        self.work.chmod(0o777)
        if as_user is None:
            self.program = self.copy_programs()
        self.config({"executor": "slurm", "slurm": {"partition": "main", "every": "300ms"},
                     "grace": "2s", "progress_every": "100ms", **(config or {})})
        self.hooks = self.base / "hooks"
        self.wrappers = self.base / "wrappers"
        for folder in (self.hooks, self.wrappers):
            folder.mkdir()
        self.hooks.chmod(0o777)
        for name in ("sbatch", "scontrol", "scancel"):
            self.script(self.wrappers / name, WRAPPER.replace("HOOKS", str(self.hooks)))
        self.journal = self.work / "journal"
        self.journal.touch()
        self.journal.chmod(0o666)
        self.worker = self.base / "worker"
        self.script(self.worker, WORKER.replace("BASE", str(self.work)))

    @staticmethod
    def script(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def environment(self, **more):
        kept = super().environment(**more)
        kept["PATH"] = f"{self.wrappers}:{kept['PATH']}"
        return kept

    def start(self):
        super().start()
        (self.base / "pid").write_text(str(self.process.pid))
        return self

    @property
    def suicide(self):
        """Returns a line for a hook that kills this manager."""
        return f"kill -9 $(cat {self.base}/pid)"

    def wait_dead(self):
        self.process.wait(timeout=60)
        assert self.process.returncode == -signal.SIGKILL, self.process.returncode
        self.process = None

    def hook(self, when, name, script):
        fresh = self.hooks / f"{when}-{name}"
        fresh.with_suffix(".new").write_text(script + "\n")
        fresh.with_suffix(".new").rename(fresh)

    def hooked(self, when, name):
        return (self.hooks / f"did-{when}-{name}").exists()

    def shims(self):
        """Returns shims by lease. Shims of gangs find their directory by the name of the node."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            words = proc(pid, "cmdline").split(b"\0")
            if not words[0].endswith(b"muster-shim") or len(words) < 2:
                continue
            node = [each[len(b"SLURMD_NODENAME="):] for each in proc(pid, "environ").split(b"\0")
                    if each.startswith(b"SLURMD_NODENAME=")]
            for word in words[1:]:
                name, _, path = word.rpartition(b"=")
                path = pathlib.Path(os.fsdecode(path))
                if self.home in path.parents and (not name or [name] == node):
                    found[path.name] = int(pid)
        return found

    def beats(self, job):
        """Returns the lines of a job in the journal: (rank, epoch, pid, what)."""
        lines = [line.split() for line in self.journal.read_text().splitlines()]
        return [(int(rank), int(at), int(pid), what) for number, rank, at, pid, what in lines
                if int(number) == job]


class FaultTest(LiveTest):
    bed = None

    def daemon_with(self, config=None, as_user=None, start=True):
        daemon = SlurmDaemon(config, as_user)
        self.all.append(daemon)
        return daemon.start() if start else daemon

    def tearDown(self):
        if any(test is self for test, _ in [*self._outcome.result.failures,
                                            *self._outcome.result.errors]):
            print(self.bed.run("squeue", "-t", "all", "-o", "%i %T %j %k %N %r", check=False),
                  self.bed.run("sinfo", "-N", check=False), flush=True)
        super().tearDown()
        self.bed.run("scancel", "--user=root")
        self.bed.run("scontrol", "update", "nodename=n[1-4]", "state=resume", check=False)
        until("the bed is empty", lambda: not self.bed.jobs())

    def ours(self, live=True):
        """Returns jobs of this manager. A killed controller may also restore jobs of others."""
        mark = json.loads((self.daemon.home / "instance.json").read_text())["id"]
        return [row for row in self.bed.ours(live) if f":{mark}:" in row["comment"]]

    def work(self, beats=10, status=0, **request):
        """Submits a small job."""
        env = {"BEATS": str(beats), "STATUS": str(status)}
        return self.post_job([str(self.daemon.worker)], env=env, **request)

    def gang(self, **request):
        """Submits a job with one rank on each of two nodes."""
        return self.work(gpus=16, **request)

    def wait_beat(self, job, since=1, ranks=1):
        """Waits until all its ranks have written a beat, in this lease epoch or a later one."""
        def there():
            lines = self.daemon.beats(job)
            return len({rank for rank, at, _, what in lines
                        if at >= since and what == "beat"}) == ranks
        until(lambda: f"job {job} runs: {self.daemon.job(job)}", there)

    def epochs(self, job):
        """Returns the lease epochs that ran. Checks that two copies could never write together."""
        newest = collections.defaultdict(int)
        pids = {}
        for rank, epoch, pid, what in self.daemon.beats(job):
            self.assertGreaterEqual(epoch, newest[rank], f"job {job}, rank {rank}: {what}")
            newest[rank] = epoch
            self.assertEqual(pids.setdefault((rank, epoch), pid), pid, f"twice: job {job}")
        return sorted({epoch for _, epoch in pids})

    def assert_once(self, *jobs):
        """Checks that each job ran in one lease."""
        for job in jobs:
            self.assertEqual(self.epochs(job), [1], f"job {job}")

    def assert_nothing_left(self):
        """Checks that all jobs have finished, and that no system has a lease of this manager."""
        daemon = self.daemon
        until(lambda: f"the queue is empty: {daemon.get('/v1/jobs?limit=100')}",
              lambda: all(job["state"] in OVER for job in daemon.get("/v1/jobs?limit=100")["jobs"]))
        until(lambda: f"nothing in Slurm: {self.ours()}", lambda: not self.ours())
        until(lambda: f"no shims: {daemon.shims()}", lambda: not daemon.shims())
