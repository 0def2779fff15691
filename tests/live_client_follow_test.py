#!/usr/bin/env python3
"""The commands that follow jobs of the live manager (logs, events, wait, top), against a fake
manager.

    tests/live_client_follow_test.py MUSTER [TEST...]
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_client  # noqa: E402
from fake_manager import FakeManager  # noqa: E402
from live_client import PATIENCE, ClientTest, Program  # noqa: E402


class Follows(ClientTest):
    def test_logs_come_whole(self):
        self.some_jobs()
        text = b"".join(b"line %d\n" % i for i in range(300_000))
        self.manager.write(3, text)
        self.assertEqual(self.run_muster("logs", "3")[0].encode(), text)
        self.assertEqual(self.run_muster("logs", "--tail", "2", "3")[0],
                         "line 299998\nline 299999\n")
        tail, _ = self.run_muster("logs", "--tail", "20000", "3")
        self.assertEqual(tail.encode(), b"".join(text.splitlines(True)[-20000:]))
        self.assertEqual(self.run_muster("logs", "--tail", "0", "3")[0], "")
        self.assertEqual(self.run_muster("logs", "2", status=1)[1],
                         "muster: job 2 has no output yet\n")

    def test_following_goes_on_after_a_break(self):
        self.some_jobs()
        self.manager.jobs[3]["leases_used"] = 1
        self.manager.write(3, "one\r10 µs\n\nthree\n".encode())
        self.manager.break_after = [1, 0, 2]
        self.once_asked("/v1/jobs/3/log",
                        lambda: self.manager.write(3, b"half"),
                        lambda: self.manager.write(3, b" a line\nlast", over=True),
                        lambda: self.manager.happen(3, "done", state="done"))
        out, err = self.run_muster("logs", "-f", "3")
        self.assertEqual(out, "one\r10 µs\n\nthree\nhalf a line\nlast")
        self.assertEqual(err, "")
        self.assertEqual(self.run_muster("logs", "-f", "--tail", "1", "3")[0], "last")

    def test_following_counts_as_the_manager_does(self):
        self.some_jobs()
        self.manager.jobs[1]["leases_used"] = 1
        self.manager.write(1, b"\xff\xffone\ntwo\n", over=True)
        self.manager.break_after = [1]
        self.assertEqual(self.run_muster("logs", "-f", "1")[0], "\ufffd\ufffdone\ntwo\n")

    def test_following_waits_for_the_job_and_all_its_leases(self):
        self.some_jobs()
        m = self.manager

        words = ("logs", "-f", "2")
        process = self.start(*words)
        m.wait_asked("/v1/jobs/2")
        m.write(2, b"first\n", over=True)
        m.happen(2, "started", state="running", leases_used=1)
        self.assertEqual(process.stdout.readline(), b"first\n")
        m.wait_asked("/v1/jobs/2/events", times=2)  # The client has read the end of that log.
        m.happen(2, "preempted", state="queued")
        m.logs.clear()
        m.write(2, b"second\n", over=True)
        m.happen(2, "started", leases_used=2, state="running")
        self.assertEqual(process.stdout.readline(), b"-- lease 2 --\n")
        self.assertEqual(process.stdout.readline(), b"second\n")
        m.happen(2, "done", state="done")
        self.assertEqual(self.finish(process, words), ("", ""))
        self.assertEqual(self.run_muster("logs", "2"),
                         ("-- lease 1 --\nsecond\n-- lease 2 --\nsecond\n", ""),
                         "the fake manager has one log for all leases")
        m.write(2, b"[rank0]: a\n[rank1]: b\nplain\n[rank1]: c")
        self.assertEqual(self.run_muster("logs", "2", "--lease", "1", "--rank", "1")[0],
                         "second\nb\nplain\nc")
        m.jobs[2].update(where="left:0-1+3,right:0", request={"launch_per": "gpu"})
        m.asked.clear()
        self.run_muster("logs", "2", "--lease", "1", "--rank", "3")
        self.assertTrue(any("node=1" in target for _, target, _, _ in m.asked), m.asked)
        self.assertIn("never ran: job 1 (old): done", self.run_muster("logs", "-f", "1",
                                                                      status=1)[1])

    def test_ctrl_c_ends_it(self):
        self.some_jobs()
        self.manager.jobs[3]["leases_used"] = 1
        self.manager.write(3, b"one\n")
        for words in (("logs", "-f", "3"), ("logs", "-f", "2"), ("events", "-f"), ("wait", "3")):
            self.manager.asked.clear()
            process = self.start(*words)
            self.manager.wait_asked("follow")
            if words == ("logs", "-f", "3"):
                self.assertEqual(process.stdout.readline(), b"one\n")
            time.sleep(0.1)  # It may arrive before or after the answer.
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.finish(process, words, 130), ("", ""), words)

    def test_events(self):
        self.some_jobs()
        for i in range(1500):
            self.manager.happen(2 + i % 2, "held")
        self.assertEqual(len(self.run_muster("events")[0].splitlines()), 1500)
        out, _ = self.run_muster("events", "--tail", "2", "3")
        self.assertEqual([line.split()[2:] for line in out.splitlines()],
                         [["3", "held", "job", "3", "held"]] * 2)
        out, _ = self.run_muster("events", "--json", "--tail", "1")
        self.assertEqual(json.loads(out)["number"], 1500)
        self.manager.break_after = [1, 1]
        self.once_asked("follow", *[lambda: self.manager.happen(3, "resized")] * 3,
                        lambda: self.manager.happen(3, "done", state="done"))
        out, _ = self.run_muster("events", "-f", "--tail", "0", "3")
        self.assertEqual([line.split()[3] for line in out.splitlines()],
                         ["resized", "resized", "resized", "done"])

    def test_wait_knows_how_they_ended(self):
        self.some_jobs()
        m = self.manager
        m.break_after = [0, 1]
        self.once_asked("follow", lambda: m.happen(2, "started", state="running"),
                        lambda: m.happen(3, "done", state="done"),
                        lambda: m.happen(2, "failed", state="failed", why="exit 3", ran_s=5))
        out, _ = self.run_muster("wait", "3", "2", "1", status=1)
        self.assertEqual(out, "job 3 (runs): done after 3m12s\n"
                              "job 2 (first): failed after 5s: exit 3\n"
                              "job 1 (old): done after 1m00s\n")
        self.assertEqual(json.loads(self.run_muster("wait", "--json", "1")[0])["state"], "done")
        self.assertEqual(self.run_muster("wait", "77", "1", status=1),
                         ("job 1 (old): done after 1m00s\n", "muster: wait 77: no job '77'\n"))

    def test_an_id_is_resolved_once(self):
        m = self.manager
        for words in (("wait", "1"), ("logs", "-f", "1"), ("events", "-f", "1")):
            m.jobs = {12: {"id": 12, "name": "a", "state": "running", "leases_used": 1}}
            m.logs = {12: [b"hello\n", True]}
            self.once_asked("follow",
                            lambda: m.jobs.update({13: {"id": 13, "state": "queued"}}),
                            lambda: m.happen(12, "resized"),
                            lambda: m.happen(12, "done", state="done"))
            self.assertEqual(self.run_muster(*words)[1], "", words)

    def test_wait_gives_up_in_time(self):
        self.some_jobs()
        began = time.monotonic()
        _, err = self.run_muster("wait", "--timeout", "0.5s", "4", status=124)
        self.assertGreaterEqual(time.monotonic() - began, 0.5)
        self.assertEqual(err, "muster: --timeout expired: job 4 (urgent): queued\n")
        self.run_muster("wait", "--timeout", "soon", "4", status=2)


class Top(ClientTest):
    """Runs a command on a pseudoterminal that the test controls."""

    def cluster(self, jobs=3):
        now = time.time()
        self.manager.nodes = [{"name": "n1", "gpus": 8, "gpus_free": 2, "cpus": 24, "cpus_free": 4}]
        for i in range(1, jobs + 1):
            self.manager.jobs[i] = {
                "id": i, "name": f"run{i}", "state": "running", "gpus": 2, "ran_s": 65.0,
                "user": "ann", "where": "n1:0-1", "started": now,
                "progress": {"step": 1200, "loss": 0.5, "rate": 3.25}}
        for i in range(101, 101 + jobs):
            self.manager.jobs[i] = {"id": i, "name": f"wait{i}", "state": "queued", "gpus": 4,
                                    "user": "bob", "submitted": now - 30, "why": "no GPUs free"}

    def open_top(self, rows=24, columns=100):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(Program.muster, [Program.muster, "top"],
                      {**self.environment(), "TERM": "xterm"})
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.seen = b""
        return pid, fd

    def read_until(self, fd, *parts, seconds=PATIENCE):
        """Returns the new output once it contains all `parts`."""
        got = b""
        end = time.monotonic() + seconds
        while not all(part in got for part in parts):
            self.assertLess(time.monotonic(), end, f"{parts} not in {got[-2000:]}")
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    piece = os.read(fd, 65536)
                except OSError:  # The other end is closed.
                    piece = b""
                if not piece:
                    break
                got += piece
                self.seen += piece
        return got

    def assert_gone(self, pid, fd, status):
        self.read_until(fd, b"\x1b[?1049l")
        self.assertIn(b"\x1b[?7h\x1b[?25h\x1b[?1049l", self.seen)
        self.assertEqual(os.waitpid(pid, 0)[1], status)
        os.close(fd)

    def test_prints_one_frame_without_a_terminal(self):
        self.cluster(30)
        out, _ = self.run_muster("top")
        self.assertNotIn("\x1b", out)
        lines = out.splitlines()
        self.assertIn("nodes 1   GPUs [###############-----] 6/8   CPUs 20/24   running 30   "
                      "waiting 30", lines[1])
        row = next(line for line in lines if "run7 " in line)
        self.assertEqual(row.split(), ["7", "run7", "ann", "running", "2", "1m05s", "1200", "0.5",
                                       "3.25", "n1:0-1"])
        self.assertEqual(sum("no GPUs free" in line for line in lines), 30)

    def test_shows_news_and_quits(self):
        self.cluster()
        pid, fd = self.open_top()
        self.read_until(fd, b"\x1b[?1049h", b"run1", b"wait101", b"1200")
        self.manager.jobs[1]["progress"]["step"] = 4321
        self.read_until(fd, b"4321")
        os.write(fd, b"q")
        self.assert_gone(pid, fd, 0)

    def test_scrolls_and_follows_the_size(self):
        self.cluster(60)
        pid, fd = self.open_top(rows=20)
        first = self.read_until(fd, b"run1 ", b"wait101")
        self.assertNotIn(b"run50 ", first)
        os.write(fd, b"\x1b[B" * 3 + b"\x1b[A")
        self.read_until(fd, b"\x1b[2K 3  run3 ")
        os.write(fd, b"\x1b[6~" * 8)
        self.read_until(fd, b"run59 ")
        os.write(fd, b"\x1b[H")
        self.read_until(fd, b"run1 ")
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 150, 100, 0, 0))
        os.kill(pid, signal.SIGWINCH)
        self.read_until(fd, b"run50 ", b"wait160")
        os.write(fd, b"\x03")
        self.assert_gone(pid, fd, 130 << 8)

    def test_cuts_long_lines_and_says_so(self):
        self.cluster(1)
        self.manager.jobs[101]["why"] = "because " * 50
        pid, fd = self.open_top(columns=90)
        self.read_until(fd, "becaus…".encode())
        os.write(fd, b"q")
        self.assert_gone(pid, fd, 0)

    def test_gives_the_terminal_back_when_killed(self):
        self.cluster()
        for signal_ in (signal.SIGTERM, signal.SIGHUP):
            pid, fd = self.open_top()
            self.read_until(fd, b"run1")
            os.kill(pid, signal_)
            self.read_until(fd, b"\x1b[?1049l")
            self.assertEqual(os.waitpid(pid, 0)[1], signal_)
            self.assertTrue(termios.tcgetattr(fd)[3] & termios.ICANON)
            os.close(fd)

    def test_goes_on_when_the_manager_goes(self):
        self.cluster()
        pid, fd = self.open_top()
        self.read_until(fd, b"run1")
        self.manager.__exit__()
        (self.home / "muster.sock").unlink()
        self.manager.drop_connections()
        self.read_until(fd, b"! no manager answers at", b"run1")
        self.manager = FakeManager(self.home / "muster.sock").__enter__()
        self.cluster(1)
        self.manager.jobs[1]["name"] = "back"
        self.read_until(fd, b"back")
        os.write(fd, b"q")
        self.assert_gone(pid, fd, 0)


if __name__ == "__main__":
    live_client.main()
