#!/usr/bin/env python3
"""muster-grant with real sockets and several users: it signs grants only for the user who asks, and
no client disturbs another one. Also: its key survives kills at any time, and its privileges.

    tests/grant_service_test.py MUSTER-GRANT [TEST...]
"""

import array
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
from grant_service import (  # noqa: E402
    ANN, BOB, DIGEST, GRANT, GRANT_BYTES, INSTANCE, MANAGER, PATIENCE, Grant, GrantService,
    exchange, question, reason)

PROGRAM = None
DAY = 86400


class ServiceTest(unittest.TestCase):
    RULES = ""

    def setUp(self):
        self.service = GrantService(PROGRAM, self.RULES)
        self.addCleanup(self.service.remove)

    def granted(self, *arguments, **named):
        answer = self.service.ask(*arguments, **named)
        self.assertEqual(len(answer), GRANT_BYTES, answer)
        grant = Grant(answer)
        self.assertTrue(grant.is_signed_with(self.service.key()))
        return grant


class Answers(ServiceTest):
    RULES = "min_uid = 2000\ndeny_users = 62000\nallow_groups = 61001, 61002, 70000\n"

    def setUp(self):
        super().setUp()
        self.service.start()

    def test_for_the_asking_user(self):
        nonces = set()
        for uid in [ANN, BOB] * 20:
            before = int(time.time())
            grant = self.granted(uid)
            self.assertEqual((grant.version, grant.uid, grant.gid), (1, uid, uid))
            self.assertEqual((grant.instance, grant.digest), (INSTANCE, DIGEST))
            self.assertIn(grant.issued, range(before, int(time.time()) + 1))
            self.assertEqual(grant.until - grant.issued, 30 * DAY)
            self.assertEqual((grant.reserved, grant.more), (0, bytes(64)))
            nonces.add(grant.nonce)
        self.assertEqual(len(nonces), 40)

    def test_for_a_process_of_the_user(self):
        for uid in (ANN, BOB):
            output, child_output = os.pipe()
            child = os.fork()
            if child == 0:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as end:
                    end.connect(str(self.service.socket))
                    os.write(child_output, exchange(end, question()))
                os._exit(0)
            os.close(child_output)
            with open(output, "rb") as file:
                grant = Grant(file.read())
            self.assertEqual((grant.uid, grant.gid), (uid, uid))
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_many_questions_on_a_connection(self):
        with self.service.connect(ANN) as end:
            for number in range(500):
                digest = number.to_bytes(32, "little")
                grant = Grant(exchange(end, question(digest=digest)))
                self.assertEqual((grant.uid, grant.digest), (ANN, digest))

    def test_validity(self):
        for seconds in (1, 3600, 180 * DAY):
            grant = self.granted(ANN, question(seconds))
            self.assertEqual(grant.until - grant.issued, seconds)
        for seconds in (180 * DAY + 1, 2**32 - 1):
            self.assertEqual(reason(self.service.ask(ANN, question(seconds))),
                             "grant question: validity is longer than 180 days")

    def test_rules(self):
        for uid, gid, groups, words in (
                (0, ANN, [], "jobs do not run as root"),
                (ANN, 0, [], "jobs do not run as root"),
                (1999, ANN, [], "the uid is below min_uid of launch.conf"),
                (MANAGER, ANN, [], "this user runs a service of Muster"),
                (GRANT, ANN, [], "this user runs a service of Muster"),
                (62000, ANN, [], "in deny_users of launch.conf"),
                (63000, 63000, [], "not in a group of allow_groups in launch.conf"),
                (63000, 63000, [69999, 70001], "not in a group of allow_groups in launch.conf")):
            self.assertEqual(reason(self.service.ask(uid, gid=gid, groups=groups)), words)
        self.assertEqual(self.granted(63000, gid=63000, groups=[5, 70000]).uid, 63000)
        self.assertEqual(self.granted(63000, gid=70000).gid, 70000)

    def test_garbage(self):
        fine = question()
        bad = [b"x", fine[:-1], fine + b"\0", fine * 2, bytes(2048), bytes(2049), bytes(60000),
               question(version=0), question(version=2), question(reserved=1)]
        chance = random.Random(1)
        bad += [chance.randbytes(chance.randrange(1, 300)) for _ in range(200)]
        for data in bad:
            answer = self.service.ask(ANN, data)
            self.assertNotEqual(len(answer), GRANT_BYTES)
            self.assertTrue(reason(answer))
        self.assertEqual(self.service.ask(ANN, b""), b"")  # As if the client had closed.
        with self.service.connect(ANN) as end:  # A refusal ends the connection.
            self.assertTrue(reason(exchange(end, b"x")))
            self.assertEqual(exchange(end, fine), b"")
        self.granted(ANN)

    def test_descriptors(self):
        for count in (1, 2, 3, 64, 253):
            with self.service.connect(ANN) as end:
                end.sendmsg([question()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                            array.array("i", [0] * count))])
                self.assertIn("descriptor", reason(end.recv(4096)))
        self.granted(ANN)

    def test_a_thousand_connections(self):
        held = [self.service.connect(ANN) for _ in range(1000)]
        self.granted(BOB)  # Another user is not affected.
        answers = [exchange(end, question()) for end in held]
        self.assertEqual([len(answer) for answer in answers], [GRANT_BYTES] * 16 + [0] * 984)
        for end in held:
            end.close()
        self.service.wait_idle()
        self.granted(ANN)

    def test_a_thousand_connections_of_many_users(self):
        self.service.wait_idle()
        held = [self.service.connect(70000 + number % 100, gid=ANN) for number in range(1000)]
        answers = [len(exchange(end, question())) for end in held]
        self.assertEqual(answers, [GRANT_BYTES] * 512 + [0] * 488)
        for end in held:
            end.close()
        self.service.wait_idle()
        self.granted(BOB)


class Slow(ServiceTest):
    def test_silence_ends_after_ten_seconds(self):
        self.service.start()
        start = time.monotonic()
        silent = self.service.connect(ANN)
        greedy = self.service.connect(BOB)  # Never reads.
        greedy.setblocking(False)
        for _ in range(100):
            try:
                for _ in range(1000):
                    greedy.send(question())
            except BlockingIOError:
                time.sleep(0.002)
        activated = self.activated()
        self.assertEqual(self.granted(ANN).uid, ANN)  # Others are served meanwhile.
        self.assertEqual(silent.recv(100), b"")
        self.assertGreater(time.monotonic() - start, 9)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(activated.wait(PATIENCE), 0)
        greedy.settimeout(PATIENCE)
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while True:
                greedy.send(question())
        silent.close()
        greedy.close()

    def activated(self):
        """Returns a service with the socket of systemd's protocol that has answered a question."""
        path = self.service.base / "activated.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o666)
        shell = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'

        def as_third():
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)

        process = subprocess.Popen(
            ["sh", "-c", shell, "sh", self.service.program, "--conf", self.service.conf,
             "--state", self.service.state],
            preexec_fn=as_third, close_fds=False)
        listener.close()
        self.addCleanup(process.kill)
        original, self.service.socket = self.service.socket, path
        self.assertEqual(self.granted(BOB).uid, BOB)
        self.service.socket = original
        return process


class Privileges(ServiceTest):
    def test_of_the_process(self):
        self.service.start()
        with self.service.connect(ANN) as end:
            exchange(end, question())
            for pid in [self.service.process.pid, *self.service.children()]:
                with open(f"/proc/{pid}/status") as file:
                    lines = file.read().split("\n")
                status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                self.assertEqual(status["Uid"].split(), [str(GRANT)] * 4)
                self.assertEqual(status["Gid"].split(), [str(GRANT)] * 4)
                self.assertEqual(status["Groups"].split(), [])
                for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                    self.assertEqual(int(status[kind], 16), 0, kind)
                self.assertEqual(status["NoNewPrivs"], "1")
                # Not dumpable: no other process of the user can trace it.
                self.assertEqual(os.stat(f"/proc/{pid}/mem").st_uid, 0)

    def test_of_the_files(self):
        self.service.start()
        self.assertEqual(self.service.socket.stat().st_mode & 0o7777, 0o666)
        key = (self.service.state / "key").stat()
        self.assertEqual((key.st_uid, key.st_mode & 0o7777, key.st_size), (GRANT, 0o400, 32))

    def refused(self, *words, **named):
        result = subprocess.run([*(words or self.service.command())], stderr=subprocess.PIPE,
                                text=True, timeout=PATIENCE, **named)
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stderr

    def test_wrong_starts(self):
        self.assertIn("start it as root", self.refused(user=ANN, group=ANN, extra_groups=[]))
        self.assertIn("no sequential-packet socket from systemd",
                      self.refused(self.service.program, "--conf", self.service.conf))
        self.service.conf.chmod(0o644)
        self.assertIn("must be a regular file of root with mode 0600", self.refused())
        self.service.conf.chmod(0o600)
        self.service.state.chmod(0o755)
        self.assertIn("with mode 0700", self.refused())
        self.service.state.chmod(0o700)
        os.chown(self.service.state, 0, 0)
        self.assertIn("state: Permission denied", self.refused())
        os.chown(self.service.state, GRANT, GRANT)
        for words in (["--listen"], ["--listen", "relative"], ["--help"], ["/x"]):
            result = subprocess.run([self.service.program, *words], stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 2, words)

    def test_two_services_on_a_socket(self):
        self.service.start()
        self.assertIn("another process listens here", self.refused())
        self.granted(ANN)
        self.service.kill()
        self.service.start()  # The socket of the killed service is replaced.
        self.granted(ANN)

    @unittest.skipUnless(shutil.which("strace"), "SKIPPED: strace is not installed")
    def test_a_failed_change_of_the_user_ends_it(self):
        calls = ["setgroups:error=EPERM", "setresgid:error=EPERM", "setresuid:error=EPERM",
                 "setresuid:error=EAGAIN", "setresuid:retval=0:when=1", "setresgid:retval=0",
                 "prctl:error=EINVAL"]
        if b"__asan_init" not in pathlib.Path(PROGRAM).read_bytes():  # It needs this call.
            calls.append("prlimit64:error=EPERM")
        for call in calls:
            words = ["strace", "-o", "/dev/null", "-e", f"inject={call}", *self.service.command()]
            self.assertIn("cannot change to grant_uid", self.refused(*words), call)
            self.assertIsNone(self.service.key())


class Kills(ServiceTest):
    def assert_valid_or_none(self):
        """Returns the key, which is complete if there is one."""
        key = self.service.key()
        if key is not None:
            self.assertEqual(len(key), 32)
            self.assertEqual((self.service.state / "key").stat().st_mode & 0o7777, 0o400)
        return key

    def test_at_random_times(self):
        chance = random.Random(2)
        for _ in range(40):
            for path in self.service.state.iterdir():
                path.unlink()
            self.service.spawn()
            time.sleep(chance.random() * 0.02)
            self.service.kill()
            key = self.assert_valid_or_none()
            if key is not None:
                self.service.start()
                self.assertEqual(self.service.key(), key)
                self.service.kill()
        self.service.start()
        self.granted(ANN)

    @unittest.skipUnless(shutil.which("strace"), "SKIPPED: strace is not installed")
    def test_at_each_system_call(self):
        killed = 0
        for call in ("flock", "getrandom", "unlinkat", "openat", "write", "fsync", "renameat",
                     "newfstatat", "read"):
            for number in range(1, 40):
                for path in self.service.state.iterdir():
                    path.unlink()
                hit = self.run_traced(f"{call}:signal=KILL:when={number}")
                self.assert_valid_or_none()
                if not hit:
                    break
                killed += 1
        self.assertGreater(killed, 20)
        self.service.start()
        self.granted(ANN)

    @unittest.skipUnless(shutil.which("strace"), "SKIPPED: strace is not installed")
    def test_failing_calls(self):
        for call in ("getrandom:error=ENOSYS", "write:error=ENOSPC", "write:retval=5",
                     "fsync:error=EIO", "fsync:error=EIO:when=2", "renameat:error=EIO",
                     "flock:error=EINTR"):
            for path in self.service.state.iterdir():
                path.unlink()
            self.assertTrue(self.run_traced(call), call)
            # Only the synchronization of the directory fails after the key has its name.
            self.assertEqual(self.assert_valid_or_none() is not None, call.endswith("when=2"), call)
        self.service.start()
        self.granted(ANN)

    def run_traced(self, what):
        """Starts the service with an injected fault. Returns whether it ended before it served."""
        process = self.service.spawn(["strace", "-o", "/dev/null", "-e", f"inject={what}"])
        served = False
        until = time.monotonic() + PATIENCE
        while process.poll() is None and not served:
            self.assertLess(time.monotonic(), until, what)
            try:
                served = bool(self.service.ask(ANN))
            except OSError:
                time.sleep(0.001)
        if served:
            for child in self.service.children():  # strace ends with the service.
                os.kill(int(child), signal.SIGKILL)
            process.wait(PATIENCE)
        self.service.kill()
        return not served


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("SKIPPED: GrantService: needs root to act as several users", file=sys.stderr)
        sys.exit(0)
    PROGRAM = sys.argv.pop(1)
    # A service that cannot be traced cannot look for leaks when it ends.
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    unittest.main()
