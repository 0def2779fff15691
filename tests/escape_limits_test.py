#!/usr/bin/env python3
"""Attacks of jobs on the limits of their lease, in personal mode: processes, memory, files, GPU
devices, progress reports and output. The manager must answer within a second during each attack.

    tests/escape_limits_test.py MUSTER TRAINER [TEST...]
"""

import contextlib
import os
import pathlib
import shutil
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import Daemon, LiveTest, Programs, until  # noqa: E402

MOST_SECONDS = 1  # For an answer.
MIB = 1 << 20


def hierarchies():
    """Returns the mount points of all cgroup hierarchies, by controller; "unified" is version 2."""
    found = {}
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        head, tail = line.split(" - ")
        kind, _, options = tail.split(" ")[:3]
        mount = pathlib.Path(head.split(" ")[4])
        if kind == "cgroup2":
            found["unified"] = mount
            controllers = (mount / "cgroup.controllers").read_text().split()
            found.update({name: mount for name in controllers if name not in found})
        elif kind == "cgroup":
            found.update({name: mount for name in options.split(",")})
    return found


@contextlib.contextmanager
def asked_throughout(test, daemon):
    """Asks for the list of jobs all the time, and checks how long each answer takes. A busy machine
    may delay one answer, but not two in a row."""
    seconds, over = [], threading.Event()

    def ask():
        while not over.is_set():
            began = time.monotonic()
            daemon.get("/v1/jobs")
            seconds.append(time.monotonic() - began)
            over.wait(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    test.assertGreater(len(seconds), 2)
    slow = [min(pair) for pair in zip(seconds, seconds[1:]) if min(pair) > MOST_SECONDS]
    test.assertEqual(slow, [], f"slowest of {len(seconds)} answers: {max(seconds):.2f} s")


class Attack(LiveTest):
    CONFIG = {"cgroup": "none"}

    def shell(self, script, **request):
        return self.post_job(["sh", "-c", script], **request)

    def python(self, script, **request):
        return self.post_job(["python3", "-c", script], **request)

    def record(self, job, name="."):
        return self.daemon.record(f"j{job}.e1", name)

    def check_memory_bomb(self):
        node = {"name": "small", "gpus": 4, "cpus": 2, "mem": 1}
        self.daemon = self.daemon_with({**self.CONFIG, "nodes": [node]})
        with asked_throughout(self, self.daemon):
            job = self.post_job(["tail", "/dev/zero"])
            ended = self.wait_over(job, "failed", timeout=60)
        self.assertIn("exceeded its memory limit of 256 MiB", ended["leases"][0]["exit"])

    def isolation(self, job):
        return self.daemon.job(job)["leases"][0]["isolation"]


@unittest.skipUnless(os.geteuid() == 0, "needs root, to create control groups")
class InAGroup(Attack):
    """Jobs with a control group."""

    def setUp(self):
        super().setUp()
        self.hierarchies = hierarchies()
        self.parent = f"muster-escape-{os.getpid()}"
        self.CONFIG = {"cgroup": "/" + self.parent}
        for name in ("cpu", "memory", "pids"):
            if name not in self.hierarchies:
                self.skipTest(f"no cgroup hierarchy has the controller {name}")

    def tearDown(self):
        super().tearDown()
        for mount in set(self.hierarchies.values()):
            with contextlib.suppress(OSError):
                (mount / self.parent).rmdir()

    def group(self, controller):
        """Returns the directory of the only lease in the hierarchy of a controller."""
        return next((self.hierarchies[controller] / self.parent).glob("muster-*"))

    def test_12_a_fork_bomb_ends_at_the_process_limit(self):
        # The limit of the parent keeps this test small. The bomb also ends by itself.
        outer = self.hierarchies["pids"] / self.parent
        outer.mkdir()
        if self.hierarchies["pids"] == self.hierarchies.get("unified"):
            (self.hierarchies["pids"] / "cgroup.subtree_control").write_text("+pids")
        (outer / "pids.max").write_text("200")
        self.daemon.get("/v1/nodes")
        with asked_throughout(self, self.daemon):
            job = self.python("import os, time\n"
                              "end = time.monotonic() + 20\n"
                              "while time.monotonic() < end:\n"
                              "    try:\n"
                              "        if os.fork() == 0: os.setsid()\n"
                              "    except OSError:\n"
                              "        time.sleep(0.05)\n")
            self.wait_state(job, "running")
            self.assertIn(self.isolation(job), ("cgroup-v1", "cgroup-v2"))
            leaf = self.group("pids")
            self.assertEqual((leaf / "pids.max").read_text(), "8192\n")  # One GPU.
            until("the limit is reached",
                  lambda: int((leaf / "pids.events").read_text().split()[1]) > 0, timeout=15)
            self.assertLessEqual(int((leaf / "pids.current").read_text()), 200)
            began = time.monotonic()
            self.daemon.muster("cancel", job)
            self.wait_over(job, "cancelled", timeout=15)
            self.assertLess(time.monotonic() - began, 12, "grace and a few seconds")
        until("no process is left", lambda: not leaf.exists(), timeout=5)

    def test_12_a_job_that_fails_at_the_process_limit_says_so(self):
        outer = self.hierarchies["pids"] / self.parent
        outer.mkdir()
        (outer / "pids.max").write_text("20")
        job = self.shell("for i in $(seq 40); do sleep 5 & done; wait; exit 3")
        ended = self.wait_over(job, "failed", timeout=60)
        self.assertRegex(ended["leases"][0]["exit"], r"its process limit refused \d+ forks")

    def test_13_a_memory_bomb_is_reported_as_such(self):
        self.check_memory_bomb()

    def test_15_the_gpus_of_others_are_denied(self):
        fake = pathlib.Path(Programs.muster).parent.parent / "src/exec/libfake_nvml.so"
        if not fake.exists():
            self.skipTest(f"{fake} is not built")
        daemon = FakeGpus(fake, {"grace": "1s", **self.CONFIG})
        self.all.append(daemon)
        daemon.start()
        job = self.python("import errno, os\n"
                          "for name in ('nvidia0', 'nvidia1', 'nvidiactl', 'null'):\n"
                          "    try:\n"
                          "        os.open('/dev/' + name, os.O_RDWR)\n"
                          "        print(name, 'open')\n"
                          "    except OSError as error:\n"
                          "        print(name, errno.errorcode[error.errno])\n"
                          "try:\n"
                          "    os.mknod('mine', 0o20666, os.makedev(240, 0))\n"
                          "except OSError as error:\n"
                          "    print('mknod', errno.errorcode[error.errno])\n"
                          "print(os.environ['CUDA_VISIBLE_DEVICES'])\n", daemon=daemon, gpus=1)
        ended = self.wait_over(job, daemon=daemon)
        # The first GPU of the fake driver is /dev/nvidia1. No driver: an allowed open is ENXIO.
        self.assertEqual(self.output(job, daemon=daemon),
                         "nvidia0 EPERM\nnvidia1 ENXIO\nnvidiactl ENXIO\nnull open\n"
                         "mknod EPERM\nGPU-fake1\n")
        self.assertNotIn("GPU device filter", ended["leases"][0]["isolation"])


class FakeGpus(Daemon):
    """A manager with two fake GPUs, in a mount namespace with its own /dev."""

    def __init__(self, nvml, config):
        super().__init__(config)
        self.libraries = self.base / "lib"
        self.libraries.mkdir()
        shutil.copy(nvml, self.libraries / "libnvidia-ml.so.1")

    def spawn(self, words, **more):
        if words[1] != "serve":
            return super().spawn(words, **more)
        dev = self.base / "dev"
        dev.mkdir()
        script = (f"mount -t tmpfs none {dev} && cp -a /dev/null /dev/zero /dev/urandom {dev} && "
                  f"mkdir {dev}/shm && ln -s /proc/self/fd {dev}/fd && "
                  f"mknod -m 666 {dev}/nvidia0 c 240 0 && mknod -m 666 {dev}/nvidia1 c 240 1 && "
                  f"mknod -m 666 {dev}/nvidiactl c 240 255 && mount --bind {dev} /dev && "
                  'exec "$@"')
        more["env"] = {**more["env"], "LD_LIBRARY_PATH": str(self.libraries)}
        return super().spawn(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh",
                              *words], **more)


class WithoutAGroup(Attack):
    def test_12_the_missing_process_limit_is_stated(self):
        job = self.shell("true")
        self.wait_over(job)
        self.assertEqual(self.isolation(job), "reduced: no cgroup parent is configured; "
                                              "not enforced: process limit; GPU device filter")

    def test_13_a_memory_bomb_is_reported_as_such(self):
        self.check_memory_bomb()

    def test_14_many_files_and_a_large_one_do_not_slow_the_manager(self):
        # 100,000 names of files in the record; the attack has a million. Hard links are cheap. The
        # working directory has 10,000: the manager does not read it. The large file has 300 MB
        # instead of 100 GB.
        with asked_throughout(self, self.daemon):
            job = self.python("import os\n"
                              "record = os.path.dirname(os.environ['MUSTER_PROGRESS'])\n"
                              "work = os.getcwd()\n"
                              "for folder, files in ((record, 100_000), (work, 10_000)):\n"
                              "    os.chdir(folder)\n"
                              "    for i in range(files):\n"
                              "        if i % 20_000 == 0: os.mknod(f'file{i}')\n"
                              "        os.link(f'file{i - i % 20_000}', f'f{i}')\n"
                              "with open('large', 'wb') as file:\n"
                              "    for _ in range(300): file.write(bytes(1_000_000))\n",
                              mem="512M")
            self.wait_over(job)
            for path in ("", "/page", "/log"):
                began = time.monotonic()
                self.daemon.ask("GET", f"/v1/jobs/{job}{path}")
                self.assertLess(time.monotonic() - began, MOST_SECONDS, path)

    def test_22_a_progress_file_of_another_kind_harms_nobody(self):
        secret = self.daemon.base / "secret"
        secret.write_text('{"step":4711}\n' * 100_000)
        size = secret.stat().st_size
        replace = 'rm -f "$MUSTER_PROGRESS"; '
        kinds = ('mkfifo "$MUSTER_PROGRESS"', f'ln -s {secret} "$MUSTER_PROGRESS"',
                 f'ln {secret} "$MUSTER_PROGRESS"', 'mkdir "$MUSTER_PROGRESS"',
                 'echo > "$MUSTER_PROGRESS"; truncate -s 1T "$MUSTER_PROGRESS"')
        # The shim checks the file twice per second, the manager more often.
        with asked_throughout(self, self.daemon):
            jobs = [self.shell(f"{replace}{kind}; sleep 1.3") for kind in kinds]
            for job in jobs:
                self.wait_over(job)
            for job in jobs:
                self.daemon.get(f"/v1/jobs/{job}/page")
                self.daemon.muster("status", job)
        self.assertEqual(secret.stat().st_size, size, "a link does not shorten its target")
        self.assertNotIn("step", self.daemon.job(jobs[1]).get("progress", {}))
        self.assertLessEqual(self.record(jobs[4], "progress.jsonl").stat().st_size, MIB)

    def test_23_a_flood_of_reports_is_capped_and_counted(self):
        # The first job writes 100,000 lines per second for 2 s, the second 300 MB in lines of
        # 1 MB instead of 1 GB. Both keep the file open.
        lines = ("import os, time\n"
                 "file = open(os.environ['MUSTER_PROGRESS'], 'a')\n"
                 "for second in range(2):\n"
                 "    began = time.monotonic()\n"
                 "    for piece in range(100):\n"
                 "        file.write(''.join('{\"step\":%d}\\n' % (second * 100_000 + piece * 1000"
                 " + i) for i in range(1000)))\n"
                 "        file.flush()\n"
                 "        time.sleep(max(0, began + (piece + 1) / 100 - time.monotonic()))\n"
                 "file.write('{\"step\":1000000}\\n')\n"
                 "file.close()\n"
                 "while not os.path.exists('go'): time.sleep(0.05)\n")
        bytes_ = ("head -c 1000000 /dev/zero | tr '\\0' x >line; echo >>line; "
                  "exec 3>>$MUSTER_PROGRESS; echo '{\"step\":1}' >&3; sleep 1; "
                  "for i in $(seq 300); do cat line >&3; done; sleep 1; echo '{\"step\":2}' >&3; while [ ! -e go ]; do sleep 0.05; done")
        self.daemon.get("/v1/jobs")
        before = self.daemon.status_of("VmRSS")
        with asked_throughout(self, self.daemon):
            first, second = self.python(lines), self.shell(bytes_)
            for job, last in ((first, 1_000_000), (second, 2)):
                until("the last report is read",
                      lambda: self.daemon.job(job).get("progress", {}).get("step") == last)
            said = self.daemon.job(first)["progress"]
            self.assertGreater(said["dropped_lines"], 100_000)
            self.assertIn("dropped reports", self.daemon.muster("status", first)[0])
            # The files are shortened while the jobs run.
            for job in (first, second):
                file = self.record(job, "progress.jsonl")
                until("the file is shortened", lambda: file.stat().st_size <= MIB, timeout=10)
            self.assertGreater(self.daemon.job(second)["progress"]["skipped_bytes"]
                               + self.daemon.job(second)["progress"]["dropped_lines"] * 1e6, 250e6)
            self.go()
            self.wait_over(first)
            self.wait_over(second)
        events = [event for event in self.daemon.get("/v1/events?limit=1000")["events"]
                  if event.get("job") in (first, second)]
        self.assertLess(len(events), 20, "no flood of events")
        self.assertLess(self.daemon.status_of("VmRSS") - before, 100 << 10)

    def test_24_control_characters_are_shown_escaped(self):
        nasty = r"\033[2J\033]0;owned\007\000\302\233\n"
        with asked_throughout(self, self.daemon):
            job = self.shell(f"printf '{nasty}' >> $MUSTER_PROGRESS; "
                             "printf '{\"step\":3,\"loss\":\"\\033[31m\"}\\n' >> $MUSTER_PROGRESS; "
                             "head -c 1000000 /dev/zero | tr '\\0' x; echo; "
                             "head -c 1000000 /dev/zero; echo; "
                             f"printf 'RuntimeError: CUDA error: {nasty}' >&2; "
                             f"printf 'Traceback (most recent call last):\\nError: {nasty}' >&2; "
                             "exit 7")
            self.wait_over(job, "failed")
            for words in (("status", job), ("queue",), ("queue", "--all"), ("events",),
                          ("why", job), ("nodes",), ("doctor", job)):
                process = self.daemon.verb(*words)
                out, err = process.communicate(timeout=live_daemon.PATIENCE)
                for text in (out, err):
                    for byte in (b"\x1b", b"\0", b"\x07", "\x9b".encode()):
                        self.assertNotIn(byte, text, words)
                    self.assertLess(len(text), 64 << 10, words)
            for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/page", "/v1/events"):
                text = self.daemon.ask("GET", path)[1]
                self.assertNotIn("\x1b", text)
                self.assertLess(len(text), 256 << 10, path)
        # The log itself is raw, as by `cat`.
        self.assertTrue(b"\x1b[2J" in self.record(job, "out.log").read_bytes())


if __name__ == "__main__":
    live_daemon.main(__doc__)
