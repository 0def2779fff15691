#!/usr/bin/env python3
"""The live manager with real jobs: all commands of users, from submission to the end.

    tests/live_manager_test.py MUSTER TRAINER [TEST...]
"""

import json
import pathlib
import shutil
import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import GATE, PATIENCE, LiveTest, Programs, until  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples" / "jobs"


class Life(LiveTest):
    def test_a_job_runs_where_it_was_submitted_and_is_told_of(self):
        job = self.submit("--name", "hello", "--env", "A=b c", "--", "sh", "-c",
                          "echo $A in $PWD; echo oops >&2; exit 0")
        self.assertEqual(self.daemon.muster("wait", job)[0].split(" after")[0],
                         f"job {job} (hello): done")
        out, _ = self.daemon.muster("logs", job)
        self.assertEqual(sorted(out.splitlines()), [f"b c in {self.daemon.work}", "oops"])
        self.assertEqual(self.kinds(job), ["submitted", "starting", "started", "done"])
        self.assertEqual(self.daemon.json("queue")["jobs"], [])
        self.assertEqual([j["id"] for j in self.daemon.json("queue", "--all")["jobs"]], [job])

    def test_submit_follow_ends_as_the_job_does(self):
        out, _ = self.daemon.muster("submit", "--follow", "--", "sh", "-c", "echo one; exit 7",
                                    status=1)
        self.assertIn("one\n", out)
        self.daemon.muster("submit", "--wait", "--", "true")

    def test_time_of_a_running_job_goes_on(self):
        job = self.submit("--", "sleep", "600")
        self.wait_state(job, "running")
        until("it has run for half a second", lambda: self.daemon.job(job)["ran_s"] >= 0.5)

    def test_a_failure_says_how(self):
        job = self.submit("--", "sh", "-c", "exit 3")
        self.assertIn("3", self.wait_over(job, "failed")["why"])
        job = self.submit("--", "/no/such/program")
        self.assertIn("/no/such/program", self.wait_over(job, "failed")["why"])

    def test_what_never_fits_is_refused(self):
        _, err = self.daemon.muster("submit", "--gpus", "400", "--", "true", status=1)
        self.assertIn("gpus", err)
        self.assertEqual(self.daemon.json("queue", "--all")["jobs"], [])

    def test_the_same_key_is_one_job(self):
        first = self.daemon.json("submit", "--key", "k1", "--", "true")
        again = self.daemon.json("submit", "--key", "k1", "--", "true")
        self.assertEqual((first["key_seen"], again["key_seen"]), (False, True))
        self.assertEqual(first["id"], again["id"])
        self.assertNotEqual(self.submit("--key", "k2", "--", "true"), first["id"])
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.submit("--key", "k1", "--", "true"), first["id"])

    def test_arrays_share_their_limit_and_know_their_index(self):
        made = self.daemon.json("submit", "--array", "0-5%2", "--", "sh", "-c",
                                "echo $MUSTER_ARRAY_ID $MUSTER_ARRAY_INDEX; sleep 0.25")
        ids, first = made["ids"], made["id"]
        self.assertEqual(len(ids), 6)
        self.daemon.muster("wait", *ids)
        for index, job in enumerate(ids):
            self.assertEqual(self.output(job), f"{first} {index}\n")
            self.assertEqual(self.daemon.job(f"{first}_{index}")["id"], job)
        runs = [self.daemon.job(job)["leases"][0] for job in ids]
        for run in runs:
            at = run["started"]
            beside = [other for other in runs if other["started"] <= at < other["ended"]]
            self.assertLessEqual(len(beside), 2)
        for state, total in (("active", 0), ("ended", 6), ("all", 6), ("done", 6), ("failed", 0)):
            page = self.daemon.get(f"/v1/jobs?state={state}&limit=2")
            self.assertEqual((len(page["jobs"]), page["total"]), (min(2, total), total), state)
        _, err = self.daemon.muster("status", f"{first}_", status=1)
        self.assertIn("several jobs", err)
        self.daemon.muster("status", f"{first}_6", status=1)
        self.assertIn(f"job {first}_3 ", self.daemon.muster("status", ids[3])[0])
        queue, _ = self.daemon.muster("queue", "--all")
        self.assertIn(f"{first}_3", [line.split()[0] for line in queue.splitlines()])


class Order(LiveTest):
    def test_dependencies(self):
        good = self.submit("--", "sh", "-c", GATE)
        bad = self.submit("--", "sh", "-c", GATE + "; exit 1")
        after_good = self.submit("--after-ok", good, "--", "true")
        after_bad = self.submit("--after-ok", bad, "--", "true")
        chained = self.submit("--after-ok", after_bad, "--", "true")
        whatever = self.submit("--after-any", f"{bad},{after_bad}", "--", "true")
        self.assertEqual(self.daemon.job(after_good)["state"], "blocked")
        self.go()
        self.wait_over(after_good)
        self.wait_over(whatever)
        self.assertGreaterEqual(self.daemon.job(after_good)["started"],
                                self.daemon.job(good)["ended"])
        for job, cause in ((after_bad, bad), (chained, after_bad)):
            ended = self.wait_over(job, "cancelled")
            self.assertEqual(ended["why"], f"dependency job {cause} failed")
            self.assertEqual(ended["leases_used"], 0)
        self.wait_over(self.submit("--after-ok", good, "--", "true"))
        self.assertIn("did not succeed", self.daemon.muster("submit", "--after-ok", bad, "--",
                                                             "true", status=1)[1])

    def test_priorities_within_a_tenant(self):
        daemon = self.daemon_with({"virtual_gpus": 1})
        first = self.submit("--", "sh", "-c", GATE, daemon=daemon)
        jobs = {p: self.submit("--priority", p, "--", "true", daemon=daemon)
                for p in (0, 10, -5, 3)}
        self.go(daemon)
        for job in (first, *jobs.values()):
            self.wait_over(job, daemon=daemon)
        started = {p: daemon.job(job)["started"] for p, job in jobs.items()}
        self.assertEqual(sorted(started, key=started.get), [10, 3, 0, -5])

    def test_hold_and_release(self):
        job = self.submit("--hold", "--", "true")
        other = self.submit("--", "true")
        self.wait_over(other)
        self.assertEqual(self.daemon.job(job)["state"], "held")
        self.assertIn("release", self.daemon.job(job)["why"])
        self.daemon.muster("hold", job, status=1)
        self.daemon.muster("release", job)
        self.wait_over(job)
        self.daemon.muster("release", job, status=1)

    def test_a_job_released_while_it_stops_comes_back(self):
        slow = f"trap '{GATE}; exit 0' TERM; echo up; while :; do sleep 0.05; done"
        job = self.submit("--grace", "5m", "--", "sh", "-c", slow)
        until("it is up", lambda: self.daemon.job(job)["state"] == "running"
              and "up" in self.output(job))
        self.daemon.post(f"/v1/jobs/{job}/hold")
        self.daemon.post(f"/v1/jobs/{job}/release")
        self.assertEqual(self.daemon.job(job)["state"], "stopping")
        self.go()
        until("it runs again", lambda: self.daemon.job(job)["leases_used"] == 2)
        self.wait_state(job, "running")

    def test_time_limits(self):
        job = self.submit("--time-limit", "0.7s", "--", "sleep", "600")
        ended = self.wait_over(job, "failed")
        self.assertIn("time limit", ended["why"])
        self.assertLess(ended["ran_s"], 50)
        self.assertGreaterEqual(ended["ran_s"], 0.6)

    def test_a_time_limit_counts_over_leases(self):
        limit = 100
        job = self.submit("--time-limit", f"{limit}s", "--", "sleep", "300")
        until("it has run for a while", lambda: self.daemon.job(job)["ran_s"] >= 1)
        self.daemon.post(f"/v1/jobs/{job}/hold")
        ran = self.wait_state(job, "held")["ran_s"]
        self.daemon.post(f"/v1/jobs/{job}/release")
        self.wait_state(job, "running")
        given = [json.loads(self.daemon.record(f"j{job}.e{lease}", "spec.json").read_text())
                 ["time_limit_ms"] for lease in (1, 2)]
        self.assertEqual(given[0], 1000 * limit)
        self.assertAlmostEqual(given[1], 1000 * (limit - ran), delta=100)


class Ends(LiveTest):
    def test_a_cancelled_job_may_clean_up(self):
        job = self.submit("--", "sh", "-c",
                          "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done")
        until("it is up", lambda: self.daemon.job(job)["state"] == "running"
              and "up" in self.output(job))
        self.assertEqual(self.daemon.json("cancel", job), {"id": job, "state": "stopping"})
        self.assertIn("cancelled by", self.wait_over(job, "cancelled")["why"])
        self.assertIn("bye\n", self.output(job))
        self.assertEqual(self.daemon.processes(), [])
        self.assertIn("is finished", self.daemon.muster("cancel", job, status=1)[1])

    def test_who_ignores_sigterm_is_killed_after_its_grace(self):
        job = self.submit("--grace", "1s", "--", "sh", "-c",
                          "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 98' & echo up; "
                          "while :; do sleep 0.05; done")
        until("it is up", lambda: self.daemon.job(job)["state"] == "running"
              and "up" in self.output(job))
        began = time.monotonic()
        self.daemon.muster("cancel", job)
        self.wait_over(job, "cancelled")
        self.assertGreater(time.monotonic() - began, 0.9)
        spec = json.loads(self.daemon.record(f"j{job}.e1", "spec.json").read_text())
        self.assertEqual(spec["grace_ms"], 1000)
        self.assertEqual(self.daemon.processes(), [])

    def test_retries(self):
        fails_twice = "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; [ $n -ge 2 ]"
        job = self.submit("--retries", "2", "--", "sh", "-c", fails_twice)
        self.assertEqual(self.wait_over(job)["leases_used"], 3)
        self.assertEqual(self.kinds(job).count("failed-attempt"), 2)
        job = self.submit("--retries", "1", "--", "sh", "-c", "exit 9")
        self.assertEqual(self.wait_over(job, "failed")["leases_used"], 2)
        job = self.submit("--retries", "0", "--", "sh", "-c", "exit 9")
        self.assertEqual(self.wait_over(job, "failed")["leases_used"], 1)

    def test_a_pre_run_catches_the_error_before_the_gang_starts(self):
        job = self.submit("--gpus", "4", "--prerun", "5m", "--", "sh", "-c",
                          "echo $WORLD_SIZE $CUDA_VISIBLE_DEVICES; exit 5")
        ended = self.wait_over(job, "failed")
        self.assertTrue(ended["why"].startswith("pre-run: "), ended["why"])
        self.assertEqual(len(ended["leases"]), 1)
        self.assertTrue(ended["leases"][0]["prerun"])
        self.assertEqual(self.output(job), "1 0\n")

    def test_a_pre_run_that_goes_well_makes_way_for_the_gang(self):
        job = self.submit("--gpus", "4", "--prerun", "3s", "--launch-per", "gpu", "--", "sh",
                          "-c", "echo $RANK of $WORLD_SIZE; [ $WORLD_SIZE = 4 ] || sleep 600")
        ended = self.wait_over(job)
        self.assertEqual([lease.get("prerun", False) for lease in ended["leases"]], [True, False])
        self.assertEqual(self.output(job, lease=1), "0 of 1\n")
        self.assertEqual(sorted(self.output(job, lease=2).splitlines()),
                         [f"[rank{rank}]: {rank} of 4" for rank in range(4)])
        self.assertTrue(self.daemon.muster("logs", job)[0].startswith(
            "-- lease 1 --\n0 of 1\n-- lease 2 --\n[rank"))


class Gangs(LiveTest):
    CONFIG = {"nodes": [{"name": "left", "gpus": 2}, {"name": "right", "gpus": 2}]}
    SHOW = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $CUDA_VISIBLE_DEVICES"

    def test_a_process_for_each_gpu_of_two_nodes(self):
        job = self.submit("--gpus", "4", "--launch-per", "gpu", "--", "sh", "-c", self.SHOW)
        self.wait_over(job)
        for node in (0, 1):
            out, _ = self.daemon.muster("logs", "--node", node, job)
            self.assertEqual(sorted(out.splitlines()), [
                f"[rank{2 * node + i}]: {2 * node + i}/4 {i}/2 {node} 0,1" for i in (0, 1)])
        self.assertEqual(self.daemon.muster("logs", "--rank", 3, job)[0], "3/4 1/2 1 0,1\n")
        self.assertEqual(self.daemon.muster("logs", "--rank", 2, "--tail", 1, job)[0],
                         "2/4 0/2 1 0,1\n")
        self.assertIn("the job has 4 ranks", self.daemon.muster("logs", "--rank", 4, job,
                                                                 status=2)[1])
        parts = [json.loads(self.daemon.record(name, "spec.json").read_text())
                 for name in (f"j{job}.e1", f"j{job}.e1.n1")]
        self.assertNotEqual(*(part["token"] for part in parts), "they would share a control group")

    def test_a_gang_on_two_nodes_meets(self):
        meet = ("import os, socket\n"
                "at = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))\n"
                "if os.environ['RANK'] == '0':\n"
                "    s = socket.create_server(at); c = s.accept()[0]\n"
                "    print(c.recv(99).decode(), flush=True)\n"
                "else:\n"
                "    import time\n"
                "    for _ in range(1000):\n"
                "        try: c = socket.create_connection(at); break\n"
                "        except OSError: time.sleep(0.1)\n"
                "    c.sendall(b'hello from node ' + os.environ['NODE_RANK'].encode())\n")
        (pathlib.Path(self.daemon.work) / "meet.py").write_text(meet)
        job = self.submit("--gpus", "4", "--", sys.executable, "meet.py")
        self.assertEqual(self.wait_over(job)["leases"][0]["where"], "left:0-1,right:0-1")
        self.assertEqual(self.output(job), "hello from node 1\n")

    def test_a_gang_ends_with_its_first_dead_member(self):
        job = self.submit("--gpus", "4", "--retries", "0", "--", "sh", "-c",
                          "[ $NODE_RANK = 0 ] && sleep 600; sleep 0.3; exit 4")
        self.wait_over(job, "failed")
        self.assertEqual(self.daemon.processes(), [])

    def test_a_drained_server_takes_no_new_jobs(self):
        first = self.submit("--", "sleep", "600")
        where = self.wait_state(first, "running")["where"].split(":")[0]
        other = {"left": "right", "right": "left"}[where]
        self.assertEqual(self.daemon.muster("drain", where)[0], f"{where}: drained\n")
        jobs = [self.submit("--", "sleep", "600") for _ in range(3)]
        for job in jobs[:2]:
            self.assertEqual(self.wait_state(job, "running")["where"].split(":")[0], other)
        self.assertEqual(self.daemon.job(jobs[2])["state"], "queued")
        self.assertEqual(self.daemon.job(first)["state"], "running")
        nodes = {node["name"]: node["open"] for node in self.daemon.json("nodes")["nodes"]}
        self.assertEqual(nodes, {where: False, other: True})
        self.daemon.muster("undrain", where)
        self.assertEqual(self.wait_state(jobs[2], "running")["where"].split(":")[0], where)
        self.assertIn("no such node", self.daemon.muster("drain", "lift", status=1)[1])


class Logs(LiveTest):
    CONFIG = {"log_cap": 1, "log_files": 2}

    def test_following_through_rotation(self):
        lines, pad = 60_000, "x" * 60
        # Less than one file ahead of the follower, so that no file is deleted before it is read.
        write = (f"import os, time\nfor i in range({lines}):\n    print(i, '{pad}')\n"
                 "    if i % 10000 == 0:\n        print(end='', flush=True)\n"
                 "        while not os.path.exists(f'seen-{i}'): time.sleep(0.01)\n")
        job = self.submit("--", sys.executable, "-c", write)
        follower = self.daemon.verb("logs", "-f", str(job))
        seen = []
        for line in follower.stdout:
            seen.append(int(line.split()[0]))
            if seen[-1] % 10000 == 0:
                (self.daemon.work / f"seen-{seen[-1]}").touch()
        _, err = follower.communicate(timeout=PATIENCE)
        self.assertEqual(follower.returncode, 0, err)
        self.assertEqual(self.daemon.job(job)["state"], "done")
        self.assertEqual(seen, list(range(lines)))
        kept = self.daemon.muster("logs", job)[0].splitlines()
        self.assertEqual([int(line.split()[0]) for line in kept[1:]],
                         list(range(lines - len(kept) + 1, lines)))
        self.assertLessEqual(sum(len(line) + 1 for line in kept), 3 << 20)
        self.assertEqual(self.daemon.muster("logs", "--tail", 1, job)[0], f"{lines - 1} {pad}\n")


class Examples(LiveTest):
    """Runs all jobs of examples/jobs/ to their end, with fewer steps."""

    def setUp(self):
        super().setUp()
        folder = self.daemon.work / "build" / "release" / "bin"
        folder.mkdir(parents=True)
        trainer = folder / "trainer"
        trainer.write_text(f"#!/bin/bash\n[[ $* == *--fail-at* ]] && set -- \"$@\" --fail-at 30\n"
                           f"exec {Programs.trainer} \"$@\" --steps 60\n")
        trainer.chmod(0o755)
        shutil.copytree(EXAMPLES, self.daemon.work / "examples" / "jobs")

    def test_all_run_to_their_ends(self):
        files = sorted(path.name for path in EXAMPLES.iterdir())
        self.assertEqual(files, ["failing.yaml", "gang.yaml", "slurm.sh", "spirals.yaml",
                                 "sweep.yaml"])
        made = {name: self.daemon.json("submit", f"examples/jobs/{name}") for name in files}
        for name, submitted in made.items():
            for job in submitted["ids"]:
                ended = self.wait_over(job, "failed" if name == "failing.yaml" else "done",
                                       timeout=4 * PATIENCE)
                out = self.output(job)
                if name == "failing.yaml":
                    self.assertIn("ValueError", out)
                else:
                    self.assertIn("finished: step 60", out, name)
        self.assertEqual(len(made["sweep.yaml"]["ids"]), 10)
        self.assertEqual(ended["priority"], -10)
        gang = self.daemon.job(made["gang.yaml"]["id"])
        self.assertEqual(gang["leases_used"], 2)
        self.assertEqual(self.output(gang["id"]).count("finished: step 60"), 4)
        slurm = self.daemon.job(made["slurm.sh"]["id"])
        self.assertEqual((slurm["gpus"], slurm["name"]), (2, "spirals-slurm"))
        self.assertEqual(slurm["request"]["time_limit"], 1800)


if __name__ == "__main__":
    live_daemon.main(__doc__)
