#!/usr/bin/env python3
"""Writes the state directories of this folder with a real manager. tests/journals_test.py recovers
them with every later version, so they are made once and then kept.

    tests/journals/make.py MUSTER

    clean/   the manager was stopped: a snapshot without entries behind it
    killed/  the manager was killed: a snapshot and a tail of entries

Each contains the configuration, instance.json, the journal, the records of the lease that runs, and
expected.json: the states of the jobs.
"""

import json
import pathlib
import shutil
import signal
import sqlite3
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True  # Leave no files in the source tree.
sys.path.insert(0, str(HERE.parent))
from live_daemon import OVER, Daemon, until, use_programs  # noqa: E402

CONFIG = {
    "nodes": [{"name": "left", "gpus": 2, "cpus": 2, "mem": 1},
              {"name": "right", "gpus": 2, "cpus": 2, "mem": 1}],
    "scheduler": {"policy": "srtf", "estimates": "user", "min_run": "0s", "retry": "fixed:2"},
    "grace": "1s", "cgroup": "none",
}
LONG = ["sleep", "100000"]
RECORDS = ("spec.json", "started.json", "lock")  # The files of a running lease.


def submit(daemon, name, command, **more):
    request = {"name": name, "command": command, "cwd": "/", **more}
    return daemon.post("/v1/jobs", request)["id"]


def wait(daemon, job, *states):
    until(f"{job} is {states}", lambda: daemon.job(job)["state"] in states)


def live(daemon):
    """Creates ends, holds and failures before the second start, and a preemption after it."""
    daemon.start()
    wait(daemon, submit(daemon, "succeeds", ["true"], estimate=1), "done")
    wait(daemon, submit(daemon, "fails", ["false"], estimate=1), "failed")
    first = submit(daemon, "long", LONG, gpus=2, estimate=36_000)
    wait(daemon, first, "running")
    submit(daemon, "held", LONG, hold=True)
    submit(daemon, "depends", LONG, after_ok=[first])
    daemon.stop()
    daemon.start()
    unwanted = submit(daemon, "unwanted", LONG, gpus=1, estimate=30_000)
    wait(daemon, unwanted, "running")
    daemon.post(f"/v1/jobs/{unwanted}/cancel")
    wait(daemon, unwanted, "cancelled")
    wait(daemon, submit(daemon, "fails-again", ["false"], estimate=1), "failed")
    urgent = submit(daemon, "urgent", LONG, gpus=4, estimate=60)
    wait(daemon, urgent, "running")  # In the place of the first, which is stopped for it.
    submit(daemon, "waits", LONG, gpus=3, estimate=3600)


def tail_of(database):
    """Entries behind the snapshot."""
    with sqlite3.connect(database) as journal:
        return journal.execute("SELECT count(*) FROM entries WHERE seq > "
                               "(SELECT max(seq) FROM snapshots)").fetchone()[0]


def shrink(database):
    """One small file: no write-ahead log, small pages."""
    journal = sqlite3.connect(database, isolation_level=None)
    for command in ("wal_checkpoint(TRUNCATE)", "journal_mode = DELETE", "page_size = 1024"):
        journal.execute(f"PRAGMA {command}").fetchall()
    journal.execute("VACUUM")
    journal.close()


def not_a_record(_, names):
    return [name for name in names if name not in RECORDS]


def make(name, how):
    daemon = Daemon(CONFIG)
    try:
        live(daemon)
        jobs = daemon.get("/v1/jobs?state=all&limit=1000")["jobs"]
        jobs = sorted(({"id": job["id"], "name": job["name"], "state": job["state"]}
                       for job in jobs), key=lambda job: job["id"])
        daemon.stop(how)
        target = HERE / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for file in ("config.yaml", "instance.json", "journal.db", "journal.db-wal"):
            if (daemon.home / file).exists():
                shutil.copy(daemon.home / file, target)
        shrink(target / "journal.db")
        for lease in sorted((daemon.home / "leases").iterdir()):
            if not (lease / "exit.json").exists():
                shutil.copytree(lease, target / "leases" / lease.name, ignore=not_a_record)
        expected = {"jobs": jobs, "tail": tail_of(target / "journal.db"),
                    "active": sum(job["state"] not in OVER for job in jobs),
                    "leases": sum(job["state"] in ("running", "starting") for job in jobs)}
        (target / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
        print(name, expected)
    finally:
        daemon.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    use_programs(sys.argv[1])
    make("clean", signal.SIGTERM)
    make("killed", signal.SIGKILL)
