#!/usr/bin/env python3
"""Tests that the trainer learns, and that a stopped or killed run resumes with the same losses.

    trainer_test.py TRAINER [ROUNDS]
"""

import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TRAINER = ""
ROUNDS = 8


class Trainer(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.names = itertools.count()

    def start(self, *words, progress=None, cpus=None, **env):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("MUSTER_PROGRESS", "RANK", "WORLD_SIZE")}
        environment.update(env)
        if progress:
            environment["MUSTER_PROGRESS"] = str(progress)
        return subprocess.Popen(
            [TRAINER, *map(str, words)], env=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=lambda: cpus and self.settle(cpus))

    @staticmethod
    def settle(cpus):
        """Pins the process to these CPUs and raises its priority if permitted."""
        os.sched_setaffinity(0, cpus)
        os.setsid()  # Sessions share the CPUs evenly, unless one is put before the others.
        for ask in (lambda: pathlib.Path("/proc/self/autogroup").write_text("-15"),
                    lambda: os.nice(-10)):
            try:
                ask()
            except OSError:
                pass

    def finish(self, *words, status=0, **more):
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, out + err)
        return out, err

    def losses(self, path):
        """Step -> loss; a step told of twice must have the same loss to the last digit."""
        found = {}
        text = path.read_text() if path.exists() else ""
        self.assertTrue(not text or text.endswith("\n"), "a line is torn")
        for line in text.splitlines():
            said = json.loads(line)
            if said.get("saved"):
                self.assertEqual(said, {"step": said["step"], "saved": True})
                continue
            self.assertEqual(set(said), {"step", "epoch", "loss", "rate", "total"})
            loss = found.setdefault(said["step"], said["loss"])
            self.assertEqual(loss, said["loss"], f"step {said['step']} came out differently")
        return found

    def whole(self, *words):
        progress = self.scratch / f"whole{next(self.names)}"
        self.finish(*words, progress=progress)
        return self.losses(progress)

    # ---- learning

    def test_learns(self):
        losses = self.whole("--steps", 2000)
        self.assertEqual(list(losses), [1, *range(50, 2001, 50)])
        self.assertLess(losses[2000], 0.3 * losses[1])
        self.assertGreater(losses[1], 0.3)

    def test_is_a_function_of_its_seed(self):
        words = ("--steps", 200, "--report-every", 1)
        first = self.whole(*words)
        self.assertEqual(first, self.whole(*words, "--loaders", 5))
        self.assertNotEqual(first, self.whole(*words, "--seed", 2))

    # ---- stopping and resuming

    def interrupt(self, how, loaders, chance, words, expected):
        """Runs with interruptions until it is done; the losses must be the expected ones."""
        checkpoint = self.scratch / f"checkpoint{next(self.names)}"
        progress = self.scratch / f"progress{next(self.names)}"
        words = (*words, "--loaders", loaders, "--checkpoint", checkpoint)
        interrupted = 0
        for round_number in range(1000):
            process = self.start(*words, progress=progress)
            process.stdout.readline()
            delay = chance.random() * 0.12
            if round_number < 10:
                time.sleep(delay)
                process.send_signal(how)
            out, err = process.communicate(timeout=120)
            if "finished" in out:
                break
            interrupted += 1
            if how == signal.SIGTERM:
                self.assertEqual(process.returncode, 0, out + err)
                self.assertRegex(out, r"stopped at step \d+; saved")
            else:
                self.assertEqual(process.returncode, -how, out + err)
        self.assertIn("finished", out)
        self.assertEqual(self.losses(progress), expected)
        self.assertFalse(pathlib.Path(f"{checkpoint}.tmp").exists())
        return interrupted

    def interrupt_often(self, how):
        words = ("--steps", 300, "--report-every", 1, "--load-ms", 1, "--checkpoint-every", 20)
        expected = self.whole(*words)
        chance = random.Random(3)
        interrupted = sum(self.interrupt(how, 1 + i % 3, chance, words, expected)
                          for i in range(ROUNDS // 2))
        self.assertGreater(interrupted, ROUNDS // 2, "it was hardly ever interrupted")

    def test_stopped_at_any_moment_goes_on_to_the_same_losses(self):
        self.interrupt_often(signal.SIGTERM)

    def test_killed_at_any_moment_goes_on_from_its_last_checkpoint(self):
        self.interrupt_often(signal.SIGKILL)

    def test_tells_of_its_checkpoints(self):
        def saves(*words):
            progress = self.scratch / f"progress{next(self.names)}"
            self.finish("--steps", 70, *words, progress=progress)
            told = [json.loads(line) for line in progress.read_text().splitlines()]
            return [said["step"] for said in told if said.get("saved")]
        self.assertEqual(saves(), [])
        checkpoint = ("--checkpoint", self.scratch / "c", "--checkpoint-every", 30)
        self.assertEqual(saves(*checkpoint), [30, 60, 70])
        self.assertEqual(saves(*checkpoint), [], "nothing was left to do or to save")

    def test_goes_on_no_further_than_told(self):
        checkpoint = self.scratch / "c"
        self.finish("--steps", 100, "--checkpoint", checkpoint)
        out, _ = self.finish("--steps", 100, "--checkpoint", checkpoint)
        self.assertEqual(out.splitlines()[0], "resuming from step 100")
        self.assertIn("finished: step 100", out)
        out, _ = self.finish("--steps", 130, "--checkpoint", checkpoint)
        self.assertIn("finished: step 130", out)

    def test_stops_without_a_checkpoint_too(self):
        process = self.start("--steps", 1000000, "--report-every", 1, "--load-ms", 5)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertIn("not saved", out)

    # ---- data

    def seconds(self, cpus, loaders, together=1):
        """Returns the time that this many parallel runs take."""
        began = time.monotonic()
        runs = [self.start("--steps", 60, "--load-ms", 10, "--loaders", loaders, cpus=cpus)
                for _ in range(together)]
        for run in runs:
            out, err = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, out + err)
        return time.monotonic() - began

    def test_waits_for_data_where_cpus_are_few(self):
        cpus = sorted(os.sched_getaffinity(0))
        for loaders in (1, 4):  # No number of threads makes one CPU do more than its work.
            self.assertGreater(self.seconds(cpus[:1], loaders), 0.9 * 60 * 0.010)
        if len(cpus) < 2:
            self.skipTest("one CPU only: more loaders cannot help")
        cpus = cpus[:2]
        free = False  # Whether two CPUs were ever there for the asking.
        for _ in range(5):
            alone = self.seconds(cpus, 1)
            if self.seconds(cpus, 2) < 0.8 * alone:
                return
            free = free or self.seconds(cpus, 1, together=2) < 1.2 * alone
        if not free:
            self.skipTest("the second CPU is busy: more loaders cannot help")
        self.fail("two loaders on two CPUs were no faster than one")

    # ---- ranks

    def test_only_rank_0_saves_and_reports(self):
        words = ("--steps", 60, "--report-every", 10)
        out, _ = self.finish(*words, "--checkpoint", self.scratch / "one",
                             progress=self.scratch / "p1", RANK="1", WORLD_SIZE="2")
        self.assertIn("finished", out)
        self.assertEqual(list(self.scratch.iterdir()), [])
        self.finish(*words, "--checkpoint", self.scratch / "zero", progress=self.scratch / "p0",
                    RANK="0", WORLD_SIZE="2")
        self.assertTrue((self.scratch / "zero").exists())
        self.assertNotEqual(self.losses(self.scratch / "p0")[60], self.whole(*words)[60])

    # ---- failing

    def test_fails_on_demand(self):
        checkpoint = self.scratch / "c"
        words = ("--checkpoint", checkpoint, "--checkpoint-every", 10, "--fail-at", 25)
        _, err = self.finish(*words, status=1)
        self.assertTrue(err.startswith("Traceback (most recent call last):\n"))
        self.assertTrue(err.splitlines()[-1].startswith("ValueError: "))
        out, _ = self.finish(*words, "--fail-how", "segfault", status=-signal.SIGSEGV)
        self.assertIn("resuming from step 20", out)
        _, err = self.finish(*words, "--fail-how=oom", status=1)
        self.assertRegex(err, "^trainer: out of memory: [^\n]*\n$")
        out, _ = self.finish("--checkpoint", checkpoint, "--steps", 30)
        self.assertIn("finished: step 30", out)

    def test_refuses_in_one_line(self):
        text = self.scratch / "text"
        text.write_text("not a checkpoint\n")
        torn = self.scratch / "torn"
        self.finish("--steps", 10, "--checkpoint", torn)
        torn.write_bytes(torn.read_bytes()[:-5])
        flipped = self.scratch / "flipped"
        self.finish("--steps", 10, "--checkpoint", flipped)
        other = flipped.read_bytes()
        flipped.write_bytes(other[:900] + bytes([other[900] ^ 1]) + other[901:])
        seeded = self.scratch / "seeded"
        self.finish("--steps", 10, "--checkpoint", seeded)
        for words, part in [
            (["--stpes", 5], "unknown option: '--stpes'"),
            (["5"], "unknown option: '5'"),
            (["--steps"], "--steps: a value is missing"),
            (["--steps", "many"], "--steps: not a whole number from 1 to 1000000000: 'many'"),
            (["--steps", "0"], "--steps: not a whole number"),
            (["--steps=-1"], "--steps: not a whole number"),
            (["--loaders", "1000"], "--loaders: not a whole number from 1 to 256"),
            (["--fail-how", "x"], "--fail-how: must be traceback, segfault or oom: 'x'"),
            (["--checkpoint", text], "text: not a checkpoint of this trainer"),
            (["--checkpoint", torn], "torn: not a checkpoint of this trainer"),
            (["--checkpoint", flipped], "flipped: not a checkpoint of this trainer"),
            (["--checkpoint", seeded, "--seed", "2"], "saved with --seed 1 --batch 32"),
            (["--checkpoint", self.scratch], "cannot read: Is a directory"),
        ]:
            with self.subTest(words=words):
                out, err = self.finish(*words, status=2)
                self.assertIn(part, err)
                self.assertEqual((out, err.count("\n")), ("", 1))
        _, err = self.finish(status=2, RANK="2", WORLD_SIZE="2")
        self.assertIn("RANK: not a whole number from 0 to 1: '2'", err)
        _, err = self.finish(status=2, progress=self.scratch / "no" / "where")
        self.assertIn("cannot write: No such file", err)
        _, err = self.finish("--checkpoint", self.scratch / "no" / "where", "--steps", 5, status=1)
        self.assertIn("cannot save: No such file", err)

    def test_helps(self):
        out, err = self.finish("--help")
        self.assertIn("trainer --steps 5000", out)
        self.assertEqual(err, "")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    TRAINER = sys.argv[1]
    if len(sys.argv) > 2:
        ROUNDS = int(sys.argv[2])
    elif os.environ.get("MUSTER_LONG"):
        ROUNDS = 60
    unittest.main(argv=sys.argv[:1])
