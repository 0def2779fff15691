#!/usr/bin/env python3
"""The client commands of the live manager, against a fake manager. live_client_follow_test.py tests
the commands that follow jobs.

    tests/live_client_test.py MUSTER [TEST...]
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_client  # noqa: E402
from fake_manager import FakeManager  # noqa: E402
from live_client import PATIENCE, ClientTest, Program  # noqa: E402


class Lists(ClientTest):
    def ids(self, out):
        return [line.split()[0] for line in out.splitlines()[2:]]

    def test_queue_shows_who_runs_then_who_waits(self):
        self.some_jobs()
        out, _ = self.run_muster("queue")
        lines = out.splitlines()
        self.assertEqual(lines[0].split(), ["ID", "NAME", "USER", "TENANT", "STATE", "GPUS",
                                            "TIME", "WHERE/WHY"])
        self.assertEqual(self.ids(out), ["3", "4", "2", "5_0"])
        self.assertEqual(lines[2].split(), ["3", "runs", "ann", "vision", "running", "2", "3m12s",
                                            "node-1:0-1"])
        self.assertRegex(lines[4], r"\b(8m[2-5]\ds|9m\d\ds)  8 GPUs wanted")
        self.assertIn("sweep[0]", lines[5])

    def test_queue_filters_and_limits(self):
        self.some_jobs()
        self.assertEqual(self.ids(self.run_muster("queue", "--user", "bob")[0]), ["5_0"])
        self.assertEqual(self.ids(self.run_muster("queue", "--all")[0]), ["3", "4", "2", "5_0", "1"])
        self.assertEqual(self.ids(self.run_muster("queue", "--state", "done")[0]), ["1"])
        out, _ = self.run_muster("queue", "--limit", "1")
        self.assertEqual(out.splitlines()[-1], "… and 3 more")
        self.assertEqual(self.run_muster("queue", "--tenant", "no")[0], "no jobs\n")
        self.run_muster("queue", "--all", "--state", "done", status=2)

    def test_queue_knows_who_is_first_of_thousands(self):
        self.manager.jobs = {i: {"id": i, "name": "n", "state": "queued"} for i in range(1, 2502)}
        out, _ = self.run_muster("queue", "--limit", "2")
        self.assertEqual(self.ids(out), ["1", "2", "…"])
        self.assertEqual(out.splitlines()[-1], "… and 2,499 more")
        answer = json.loads(self.run_muster("queue", "--limit", "0", "--json")[0])
        self.assertEqual(len(answer["jobs"]), 2501)

    def test_names_cannot_control_the_terminal(self):
        self.manager.jobs = {1: {"id": 1, "name": "\x1b[2Jboo", "state": "queued"}}
        out, _ = self.run_muster("queue")
        self.assertNotIn("\x1b", out)

    def test_status_tells_all(self):
        self.some_jobs()
        self.manager.jobs[3].update(
            progress={"step": 1200, "epoch": 3, "loss": 0.43123, "rate": 12.5,
                      "at": time.time() - 5},
            request={"command": ["python", "a b.py"], "cwd": "/home/ann", "time_limit": "12h",
                     "env": {"DATA": "/d"}, "after_ok": [1, 2]},
            leases=[{"number": 1, "where": "node-1:0-1", "state": "ended", "started": 1e9,
                     "ended": 1e9 + 60, "exit": "exit 1", "cpu_s": 30, "mem_peak_gib": 1.5}])
        out, _ = self.run_muster("status", "3")
        for part in ("job 3  runs  running\n", "ann, tenant vision", "2 on node-1:0-1",
                     "step 1200, epoch 3, loss 0.4312, 12.5/s (", "python 'a b.py'\n",
                     "time limit  12h\n", "env         DATA=/d\n", "after ok    1, 2\n",
                     "2001-09-09 01:46:40", "1m00s", "1.5 GiB", "exit 1"):
            self.assertIn(part, out)
        self.assertEqual(json.loads(self.run_muster("status", "3", "--json")[0])["name"], "runs")

    def test_errors_are_the_managers_words(self):
        self.some_jobs()
        self.manager.jobs[31] = {"id": 31, "state": "queued"}
        self.manager.jobs[32] = {"id": 32, "state": "queued"}
        del self.manager.jobs[3]
        self.assertEqual(self.run_muster("status", "3", status=1),
                         ("", "muster: '3' is ambiguous: 31, 32\n"))
        self.assertEqual(self.run_muster("status", "99", status=1)[1], "muster: no job '99'\n")
        self.run_muster("status", status=2)
        self.run_muster("status", "1", "2", status=2)

    def test_nodes_and_tenants(self):
        self.manager.nodes = [{"name": "n1", "open": True, "gpus": 8, "gpus_free": 3, "cpus": 24,
                               "cpus_free": 9, "mem_gib": 500, "mem_free_gib": 187.5,
                               "gpus_virtual": True, "isolation": "reduced", "notes": "no cgroup",
                               "jobs": [{"id": 3, "gpus": [0]}, {"id": 4, "gpus": [1]}]}]
        self.manager.tenants = [{"name": "vision", "quota": 8, "gpus_used": 5, "running": 2,
                                 "queued": 1}]
        out, _ = self.run_muster("nodes")
        self.assertEqual(out.splitlines()[2].split(), ["n1", "open", "5/8", "virtual", "15/24",
                                                       "312.5/500", "reduced", "3", "4", "no",
                                                       "cgroup"])
        out, _ = self.run_muster("tenants")
        self.assertEqual(out.splitlines()[2].split(), ["vision", "8", "5", "2", "1"])
        self.assertEqual(self.run_muster("drain", "n1")[0], "n1: drained\n")
        self.assertIn("drained", self.run_muster("nodes")[0])
        self.assertRegex(self.run_muster("drain", "--for", "2h", "n1")[0],
                         r"^n1: drained until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$")
        until = json.loads(self.manager.asked[-1][3])["until"]
        self.assertAlmostEqual(until, time.time() + 7200, delta=60)
        out = self.run_muster("drain", "--until", "2030-02-03T18:40", "n1")[0]
        self.assertEqual(out, "n1: drained until 2030-02-03 18:40:00\n")
        self.assertIn(" 18:40:00", self.run_muster("drain", "--until", "18:40", "n1")[0])
        until = json.loads(self.manager.asked[-1][3])["until"]
        self.assertLessEqual(until - time.time(), 25 * 3600)
        for wrong in ("25:00", "2030-02-30T18:40", "soon", "18:40x", ""):
            self.run_muster("drain", "--until", wrong, "n1", status=2)
        self.manager.nodes[0].update(state="drained", drained_until=until)
        self.assertIn("drained until", self.run_muster("nodes")[0])
        self.assertEqual(self.run_muster("undrain", "n1")[0], "n1: open\n")
        self.assertEqual(self.run_muster("drain", "n/2", status=1)[1],
                         "muster: drain n/2: no node 'n/2'\n")


    def test_queue_asks_for_no_more_than_it_shows(self):
        self.manager.jobs = {i: {"id": i, "name": "n", "state": "queued"} for i in range(1, 2502)}
        self.run_muster("queue", "--limit", "10")
        self.assertEqual([target for _, target, _, _ in self.manager.asked],
                         ["/v1/jobs?state=active&limit=10"])
        self.manager.asked.clear()
        answer = json.loads(self.run_muster("queue", "--limit", "1500", "--json")[0])
        self.assertEqual([job["id"] for job in answer["jobs"]], list(range(1, 1501)))
        self.assertEqual([target for _, target, _, _ in self.manager.asked],
                         ["/v1/jobs?state=active&limit=1000",
                          "/v1/jobs?state=active&limit=500&offset=1000"])


class Forecasts(ClientTest):
    def test_record_of_the_live_manager(self):
        self.assertIn("no job has started", self.run_muster("calibrate", "--live")[0])
        self.manager.forecasts = {"checked": 200, "inside_50": 101, "inside_80": 158,
                                  "inside_95": 190, "before": 22, "after": 20}
        lines = self.run_muster("calibrate", "--live")[0].splitlines()
        self.assertEqual(lines[0], "the 80% band contained 79.0% of 200 starts "
                                   "(11.0% were earlier, 10.0% later)")
        self.assertEqual([line.split()[:2] for line in lines[3:]],
                         [["50%", "50.5%"], ["80%", "79.0%"], ["95%", "95.0%"]])
        out, _ = self.run_muster("calibrate", "--live", "--json")
        self.assertEqual(json.loads(out), self.manager.forecasts)

    def test_a_trace_or_a_manager_is_required(self):
        _, err = self.run_muster("calibrate", status=2)
        self.assertIn("--trace: required, unless --live is given", err)


class Acts(ClientTest):
    def test_an_error_does_not_stop_the_rest(self):
        self.some_jobs()
        out, err = self.run_muster("cancel", "2", "1", "99", "4", status=1)
        self.assertEqual(out, "job 2: cancelled\njob 4: cancelled\n")
        self.assertEqual(err, "muster: cancel 1: job 1 is finished\nmuster: cancel 99: no job '99'\n")
        self.assertEqual(self.run_muster("hold", "3")[0], "job 3: held\n")
        self.assertEqual(json.loads(self.run_muster("release", "3", "--json")[0]),
                         {"id": 3, "state": "queued"})
        self.run_muster("cancel", status=2)

    def test_what_is_over_is_submitted_again(self):
        self.some_jobs()
        last = max(self.manager.jobs)
        out, err = self.run_muster("retry", "1", "2", status=1)
        self.assertEqual(out, f"job 1: submitted again as job {last + 1}\n")
        self.assertRegex(err, "muster: retry 2: job 2 is still active")
        self.assertEqual(json.loads(self.run_muster("retry", "1", "--json")[0]),
                         {"id": last + 2, "of": 1})
        self.assertIn("muster retry 12", self.run_muster("retry", "--help")[0])

    def test_an_array_is_acted_on_as_one(self):
        self.manager.jobs = {i: {"id": i, "name": "n", "state": "queued", "array": 7,
                                 "index": i - 7} for i in range(7, 11)}
        self.assertEqual(self.run_muster("cancel", "7")[0],
                         "job 7: cancelled; for the whole array: muster cancel '7_*'\n")
        self.assertEqual(self.run_muster("hold", "9")[0], "job 9: held\n")
        self.assertEqual(len(self.run_muster("queue", "7_*")[0].splitlines()), 2 + 3)
        self.assertEqual(len(self.run_muster("status", "7_*")[0].splitlines()), 2 + 4)
        self.assertEqual(json.loads(self.run_muster("status", "7_*", "--json")[0])["total"], 4)
        self.assertEqual(self.run_muster("cancel", "7_*")[0], "array 7: 3 cancelled\n")
        out, _ = self.run_muster("wait", "7_*", status=1)
        self.assertEqual([line.split()[1] for line in out.splitlines()], ["7_3", "7_2", "7_1", "7_0"])
        self.assertEqual(self.run_muster("wait", "8_*", status=1)[1],
                         "muster: wait: no such array: 8_*\n")
        self.run_muster("queue", "7", status=2)


class Submits(ClientTest):
    def dry(self, *words, status=0, **environment):
        process = subprocess.run([Program.muster, "submit", "--dry-run", *words], cwd=self.home,
                                 capture_output=True, text=True,
                                 env={"PATH": "/bin", **environment})
        self.assertEqual(process.returncode, status, process.stderr)
        return json.loads(process.stdout) if status == 0 else process.stderr

    def test_a_command_with_flags(self):
        got = self.dry("--gpus", "2", "--name=resnet", "--after-ok", "11,12", "--time-limit", "12h",
                       "--array", "0-9%2", "--hold", "--env", "A=b=c", "--env", "TOKEN",
                       "--", "python", "a.py", "--gpus", "9", "--", "-x", TOKEN="t", SECRET="s",
                       HOME="/home/ann")
        self.assertEqual(got, {
            "name": "resnet", "gpus": 2, "command": ["python", "a.py", "--gpus", "9", "--", "-x"],
            "after_ok": [11, 12], "time_limit": 43200, "array": "0-9%2", "hold": True,
            "env": {"A": "b=c", "TOKEN": "t", "PATH": "/bin", "HOME": "/home/ann"},
            "cwd": str(self.home)})
        self.assertEqual(self.dry("--cwd", "sub", "--", "ls")["cwd"], str(self.home / "sub"))

    def test_flags_go_over_the_file(self):
        (self.home / "job.yaml").write_text("name: a\ngpus: 4\ncommand: echo hi\n"
                                            "env: {PATH: /mine}\nafter_ok: [1]\n")
        got = self.dry("--gpus", "8", "--after-ok", "2", "job.yaml")
        self.assertEqual((got["gpus"], got["name"], got["after_ok"]), (8, "a", [2]))
        self.assertEqual(got["env"]["PATH"], "/mine")
        self.assertEqual(got["command"], ["/bin/sh", "-c", "echo hi"])
        self.assertIn("takes no arguments: 'x'", self.dry("job.yaml", "x", status=2))

    def test_a_script_for_slurm(self):
        script = "#!/bin/bash\n#SBATCH --gres=gpu:4\n#SBATCH --job-name=bert\necho $1\n"
        (self.home / "run.sh").write_text(script)
        got = self.dry("--name", "other", "run.sh", "--epochs", "3", PYTHONPATH="/lib")
        self.assertEqual((got["gpus"], got["name"]), (4, "other"))
        self.assertEqual(got["command"][-2:], ["--epochs", "3"])
        self.assertEqual(got["env"], {"PATH": "/bin", "PYTHONPATH": "/lib"})

    def test_bad_requests_are_refused_in_one_line(self):
        (self.home / "notes.txt").write_text("hello\n")
        for words, part in (((), "a job is required"),
                            (("nowhere.sh",), "put -- before it: muster submit -- nowhere.sh"),
                            (("notes.txt",), "must be a job file"),
                            (("--gpus", "two", "--", "ls"), "--gpus: "),
                            (("--gpus", "0", "--", "ls"), "gpus: "),
                            (("--env", "NOT_SET", "--", "ls"), "'NOT_SET' is not set; give NOT_SET=VALUE"),
                            (("--env", "MUSTER_X=1", "--", "ls"), "MUSTER_X"),
                            (("--gpu", "2", "--", "ls"), "did you mean '--gpus'?"),
                            (("--follow", "--array", "0-1", "--", "ls"), "--follow"),
                            (("--",), "a job is required")):
            err = self.dry(*words, status=2)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(part, err)

    def test_prints_the_id_alone(self):
        out, err = self.run_muster("submit", "--gpus", "2", "--", "true")
        self.assertEqual((out, err), ("1\n", ""))
        self.assertEqual(self.manager.jobs[1]["request"]["command"], ["true"])
        out, _ = self.run_muster("submit", "--json", "--key", "k", "--", "true")
        self.assertEqual(json.loads(out), {"id": 2, "ids": [2], "key_seen": False})
        out, _ = self.run_muster("submit", "--json", "--key", "k", "--", "true")
        self.assertEqual(json.loads(out), {"id": 2, "ids": [2], "key_seen": True})

    def test_a_lost_answer_is_not_two_jobs(self):
        self.manager.lose_answers = 1
        self.assertEqual(self.run_muster("submit", "--", "true")[0], "1\n")
        self.assertEqual(len(self.manager.jobs), 1)
        self.manager.lose_answers = 2
        _, err = self.run_muster("submit", "--key", "again", "--", "true", status=1)
        self.assertIn("submit it again with --key again", err)
        self.assertEqual(self.run_muster("submit", "--key", "again", "--", "true")[0], "2\n")

    def test_waits_and_follows(self):
        m = self.manager

        def run(job, fate):
            m.write(job, b"hello\n", over=True)
            m.happen(job, "started", state="running", leases_used=1)
            m.happen(job, fate, state=fate, why="exit 7")
        self.once_asked("/v1/jobs/1", lambda: run(1, "done"))
        out, err = self.run_muster("submit", "--wait", "--", "true")
        self.assertEqual((out, err), ("1\n", "job 1 (true): done\n"))
        self.once_asked("/v1/jobs/2", lambda: run(2, "failed"))
        out, err = self.run_muster("submit", "--follow", "--", "false", status=1)
        self.assertEqual((out, err), ("hello\n", "2\njob 2 (false): failed: exit 7\n"))


class AsJson(ClientTest):
    def test_logs_and_top_as_json(self):
        self.some_jobs()
        self.manager.write(3, b"one\ntwo\n", over=True)
        lines = self.run_muster("logs", "3", "--json")[0].splitlines()
        self.assertEqual("".join(json.loads(line)["text"] for line in lines), "one\ntwo\n")
        self.assertEqual(json.loads(self.run_muster("logs", "3", "--json", "--tail", "1")[0]),
                         {"text": "two\n"})
        top = json.loads(self.run_muster("top", "--json")[0])
        self.assertEqual([job["id"] for job in top["jobs"]], [3, 4, 2, 5])

    def test_status_is_for_people(self):
        self.some_jobs()
        self.manager.jobs[3].update(
            array=3, index=2,
            request={"command": ["sh", "-c", "a\nb"], "env": {"PATH": "/x:/y", "A": "b"}},
            leases=[{"number": 1, "where": "n:0", "state": "finished", "started": 1e9,
                     "ended": 1e9 + 60, "exit": "", "cpu_s": 30, "mem_peak_gib": 1.5},
                    {"number": 2, "where": "n:0", "state": "running", "started": 1e9}])
        out = self.run_muster("status", "3")[0]
        self.assertIn("a\\nb", out)
        self.assertIn("3, index 2", out)
        self.assertNotIn("/x:/y", out)
        rows = out.splitlines()[-2:]
        self.assertEqual(rows[0].split()[-1], "0")
        self.assertEqual(rows[1].split()[-2:], ["-", "-"])
        self.run_muster("queue", "--limit", "-1", status=2)


class Completions(unittest.TestCase):
    def script(self, shell):
        return subprocess.run([Program.muster, "completion", shell], capture_output=True,
                              text=True, check=True).stdout

    def test_shells_understand_them(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.script(shell)
            self.assertIn("time-limit", script)
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w") as file:
                    file.write(script)
                    file.flush()
                    subprocess.run([shell, "-n", file.name], check=True)
        got = subprocess.run([Program.muster, "completion", "bosh"], capture_output=True,
                             text=True)
        self.assertEqual(got.returncode, 2)
        self.assertIn("did you mean 'bash'?", got.stderr)

    def complete(self, *words):
        with tempfile.TemporaryDirectory() as scratch:
            fake = pathlib.Path(scratch) / "muster"
            fake.write_text("#!/bin/sh\nprintf 'ID\\n--\\n12 x\\n13 y\\n'\n")
            fake.chmod(0o755)
            script = self.script("bash") + (
                f"COMP_WORDS=({' '.join(repr(w) for w in words)})\n"
                f"COMP_CWORD={len(words) - 1}\n_muster\necho \"${{COMPREPLY[@]}}\"\n")
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                                  check=True, env={"PATH": f"{scratch}:/bin:/usr/bin"}
                                  ).stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("muster", "sub"), ["submit"])
        self.assertEqual(self.complete("muster", "queue", "--m"), ["--mine"])
        self.assertEqual(self.complete("muster", "cancel", "1"), ["12", "13"])
        self.assertEqual(self.complete("muster", "trace", "g"), ["generate"])
        self.assertIn("--kind", self.complete("muster", "trace", "generate", "--"))
        self.assertEqual(self.complete("muster", "submit", "--time"), ["--time-limit"])


@unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
class Tls(ClientTest):
    def test_trusts_only_whom_it_should(self):
        pem, key = self.home / "c.pem", self.home / "k.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", key, "-out", pem], check=True, capture_output=True)
        both = self.home / "both.pem"
        both.write_text(key.read_text() + pem.read_text())
        with FakeManager(certificate=both) as manager:
            port = manager.server.server_address[1]

            def queue(host, **more):
                got = subprocess.run([Program.muster, "queue", "--server",
                                      f"https://{host}:{port}"],
                                     env=self.environment(MUSTER_TOKEN="abc", **more),
                                     capture_output=True, text=True, timeout=PATIENCE)
                return got.returncode, got.stdout or got.stderr
            self.assertEqual(queue("localhost", MUSTER_CA=str(pem)), (0, "no jobs\n"))
            self.assertEqual(manager.asked[0][2]["Authorization"], "Bearer abc")
            self.assertEqual(manager.asked[0][2]["Host"], f"localhost:{port}")
            for host, more in (("localhost", {}), ("127.0.0.1", {"MUSTER_CA": str(pem)})):
                status, said = queue(host, **more)
                self.assertEqual(status, 1)
                self.assertIn("certificate verify failed", said)
            self.assertEqual(queue("localhost", MUSTER_CA="/nowhere"),
                             (1, "muster: no trusted certificates in '/nowhere'\n"))
            self.assertEqual(len(manager.asked), 1)  # The token was not sent to another server.


class Nobody(unittest.TestCase):
    def run_muster(self, *words, **environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        return subprocess.run([Program.muster, *words], env={**kept, **environment},
                              capture_output=True, text=True, timeout=PATIENCE)

    def test_says_how_to_start_one(self):
        got = self.run_muster("queue", MUSTER_HOME="/nonexistent")
        self.assertEqual(got.returncode, 1)
        self.assertEqual(got.stderr, "muster: no manager answers at /nonexistent/muster.sock; "
                                     "start one with 'muster serve'\n")
        got = self.run_muster("nodes", "--server", "http://127.0.0.1:1")
        self.assertEqual(got.returncode, 1)
        self.assertIn("no manager answers at http://127.0.0.1:1", got.stderr)

    def test_a_bad_address_is_bad_usage(self):
        got = self.run_muster("queue", "--server", "nonsense")
        self.assertEqual(got.returncode, 2)
        self.assertEqual(got.stderr.count("\n"), 1)


if __name__ == "__main__":
    live_client.main()
