#!/usr/bin/env python3
"""Muster on a real Slurm for several users. Jobs run as the user who submits them, and a user who
changes the record of their lease harms only their own job. Also: a manager that is not root.

    tests/slurm_users_test.py MUSTER TRAINER [TEST...]

With MUSTER_LONG=1 it tests more variants.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # Leave no files in the source tree.
from live_daemon import PATIENCE, main, until  # noqa: E402
from slurm_faults import LONG, FaultTest, FaultyBed  # noqa: E402

NOBODY = 65534
BED = FaultyBed(nodes=4, slurmd_timeout=5, kill_wait=2)


def setUpModule():
    BED.up()


def tearDownModule():
    BED.down()


class Users(FaultTest):
    """The manager runs as root, the jobs run as the user `nobody`."""
    bed = BED
    def as_nobody(self, *words, status=0):
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        process = self.daemon.spawn([*drop, *words], stdout=-1, stderr=-1,
                                    env=self.daemon.environment())
        out, err = [text.decode() for text in process.communicate(timeout=PATIENCE)]
        self.assertEqual(process.returncode, status, out + err)
        return out

    def let_in(self):
        """Opens the socket, which belongs to the group root, for the user `nobody`."""
        os.chown(self.daemon.home / "muster.sock", 0, NOBODY)

    def nobodys(self, script, *options):
        """Submits a shell script as the user `nobody`; $R is the record directory."""
        self.let_in()
        script = "R=${MUSTER_PROGRESS%/*}; " + script
        said = self.as_nobody(self.daemon.program, "submit", "--json", *options, "--",
                              "sh", "-c", script)
        return json.loads(said)["id"]

    def secret(self):
        """Returns path and descriptor of a file of root in a directory of the user `nobody`."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.daemon.base))
        os.chown(folder, NOBODY, NOBODY)
        path = folder / "secret"
        path.write_text("the secret")
        path.chmod(0o600)
        kept = os.open(path, os.O_RDONLY)
        self.addCleanup(os.close, kept)
        return path, kept

    def assert_untouched(self, kept):
        self.assertEqual(os.fstat(kept).st_uid, 0)
        self.assertEqual(os.pread(kept, 100, 0), b"the secret")

    def test_as_submitter(self):
        job = self.nobodys("id -u; id -g; id -G; stat -c '%u %a' $R; ls ${R%/*}; cat $R/spec.json "
                           "> /dev/null && echo mine; cat ${R%/*}/*/spec.json")
        self.wait_over(job, "failed")  # ls is not permitted, so cat fails.
        self.assertEqual(self.output(job).split("\n")[:4], ["65534", "65534", "65534", "65534 700"])
        self.assertIn("\nmine\n", self.output(job))
        self.assertEqual(self.output(job).count("ermission denied"), 1)
        self.assertEqual(self.ours(live=False)[-1]["user"], "nobody")
        self.assert_nothing_left()

    def test_links_and_pipes_lead_nowhere(self):
        names = ("wish.json.new", "wish.json", "out.log", "progress.jsonl", "exit.json.new")
        # The second and third: the owner of a directory can move the files in it.
        plants = [("ln -s SECRET NAME", names), ("mv SECRET NAME", ("out.log",)),
                  ("mv SECRET NAME", ("wish.json.new",)), ("mkfifo NAME", names),
                  ("mkdir -p NAME/more", names)]
        for plant, where in plants if LONG else plants[:4]:
            secret, kept = self.secret()
            script = "; ".join(f"rm -f {name}; {plant.replace('NAME', name)}" for name in where)
            with self.subTest(plant=plant):
                job = self.nobodys(f"cd $R; {script.replace('SECRET', str(secret))}; "
                                   f"touch {self.daemon.work}/planted-$MUSTER_JOB; "
                                   "exec sleep 1000", "--grace", "1s")
                until("it is planted", (self.daemon.work / f"planted-{job}").exists)
                self.assertNotIn("secret", self.output(job))
                self.daemon.muster("cancel", job)
                self.wait_over(job, "cancelled")
                self.assert_untouched(kept)
        self.assert_nothing_left()

    def test_before_it_starts(self):
        """A corrupted record of a lease that waits in Slurm; the job can still be cancelled."""
        secret, kept = self.secret()
        BED.run("scontrol", "update", "PartitionName=main", "State=DOWN")
        self.addCleanup(BED.run, "scontrol", "update", "PartitionName=main", "State=UP")
        plants = [f"ln -s {secret} NAME", "mkfifo NAME", "mkdir -p NAME/more"]
        for plant in plants if LONG else plants[:1]:
            with self.subTest(plant=plant):
                job = self.nobodys("true")
                until("it waits", lambda: "PartitionDown" in BED.run("squeue", "-h", "-o", "%r"))
                record = self.daemon.record(f"j{job}.e1", "")
                self.as_nobody("sh", "-c", "cd $0; " + "; ".join(
                    plant.replace("NAME", name) for name in (
                        "wish.json.new", "wish.json", "exit.json.new", "lock")), record)
                self.daemon.muster("cancel", job)
                self.wait_over(job, "cancelled")
                self.assert_untouched(kept)
        self.assert_nothing_left()

    def test_a_changed_order_is_not_carried_out(self):
        BED.run("scontrol", "update", "PartitionName=main", "State=DOWN")
        self.addCleanup(BED.run, "scontrol", "update", "PartitionName=main", "State=UP")
        job = self.nobodys("true")
        until("it waits", lambda: "PartitionDown" in BED.run("squeue", "-h", "-o", "%r"))
        self.daemon.kill()
        self.as_nobody("scancel", self.ours()[0]["id"])
        record = self.daemon.record(f"j{job}.e1", "spec.json")
        spec = json.loads(record.read_text())
        self.assertEqual(spec["user"], "nobody")
        spec["user"] = "root"
        spec["argv"] = ["touch", f"{self.daemon.base}/by-root"]
        new = self.daemon.work / "new"
        new.write_text(json.dumps(spec))
        new.chmod(0o644)
        self.as_nobody("cp", new, record)
        BED.run("scontrol", "update", "PartitionName=main", "State=UP")
        self.daemon.start()
        until("it is seen", lambda: "spec.json was modified" in self.daemon.log())
        until("it is refused", lambda: "contains another lease" in self.daemon.log())
        self.daemon.muster("cancel", job)
        self.wait_over(job, "cancelled")
        self.assertFalse((self.daemon.base / "by-root").exists())
        self.assertEqual({row["user"] for row in self.ours(live=False)
                          if f":j{job}.e1:" in row["comment"]}, {"nobody"})
        self.assert_nothing_left()

    def test_a_forged_comment(self):
        """A job of another user with the comment of a lease is not taken for the lease."""
        job = self.work(beats=1000)
        self.wait_beat(job)
        [row] = self.ours()
        forged = self.as_nobody("sbatch", "--parsable", "-o", "/dev/null", "--mem=10",
                                f"--comment={row['comment']}", "--wrap", "sleep 300").strip()
        until("it runs", lambda: BED.row(forged) == "RUNNING")
        pid = self.daemon.shims()[f"j{job}.e1"]
        BED.run("scancel", "--signal=KILL", "--full", row["id"])
        until("it is gone", lambda: self.daemon.shims().get(f"j{job}.e1") != pid)
        self.wait_beat(job, since=2)
        (self.daemon.work / "go").touch()
        self.wait_over(job)
        BED.run("scancel", forged)
        self.assertEqual(self.epochs(job), [1, 2])


class OneAccount(FaultTest):
    """The manager and the jobs run as the user `nobody`."""
    bed = BED

    def daemon_with(self, config=None, as_user=None, start=True):
        return super().daemon_with(config, NOBODY, start)

    def test_its_record_is_removed(self):
        """The shim cannot report. The job runs again when Slurm reports its end."""
        job = self.work(beats=1000)
        self.wait_state(job, "running")
        shutil.rmtree(self.daemon.record(f"j{job}.e1", ""))
        (self.daemon.work / f"go-{job}").touch()
        until("it has ended", lambda: not self.daemon.shims())
        self.wait_over(job)
        self.assertEqual(self.epochs(job), [1, 2])
        self.assert_nothing_left()

    def test_its_record_is_removed_and_the_manager_killed(self):
        """The lease may still run, so it is ended before the job runs again."""
        job = self.work(beats=1000)
        self.wait_state(job, "running")
        self.wait_beat(job)
        shutil.rmtree(self.daemon.record(f"j{job}.e1", ""))
        self.daemon.kill()
        self.daemon.start()
        self.wait_beat(job, since=2)
        self.assertEqual(list(self.daemon.shims()), [f"j{job}.e2"])
        (self.daemon.work / "go").touch()
        self.wait_over(job)
        self.assertEqual(self.epochs(job), [1, 2])
        self.assert_nothing_left()

    def test_what_slurm_refuses_is_cancelled(self):
        """It does not block the other submissions."""
        self.wait_over(self.work(beats=1))
        BED.run("scontrol", "update", "PartitionName=main", "State=DRAIN")
        self.addCleanup(BED.run, "scontrol", "update", "PartitionName=main", "State=UP")
        job = self.work()
        until("it is refused", lambda: "Slurm rejects" in self.daemon.log())
        self.daemon.muster("cancel", job)
        self.wait_over(job, "cancelled")
        BED.run("scontrol", "update", "PartitionName=main", "State=UP")
        self.wait_over(self.work())
        self.assert_nothing_left()

    def test_time_limit(self):
        job = self.work(beats=1000, time_limit=1)
        self.assertIn("time limit of 1.00 s reached", str(self.wait_over(job, "failed")))
        self.assertEqual(self.epochs(job), [1])
        self.assert_nothing_left()


if __name__ == "__main__":
    main(__doc__)
