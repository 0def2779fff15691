"""Checkpoints: whole or not at all, and never a stale copy's over a newer one's."""

import os
import pathlib
import pickle
import signal
import sys
import unittest
from unittest import mock

from helper import LibraryTest, lease

import muster

# Two copies of one job that run at the same time. Each executes the commands it reads line by line.
COPY = """
import muster, pickle, sys
def wait(): sys.stdin.readline()
def say(*words): print(*words, flush=True)
try:
{body}
except muster.StaleLease as error:
    say("stale")
    say(error)
"""


def forget_claims():
    """As another process."""
    sys.modules["muster.checkpoint"]._claimed.clear()


def read(file):
    return file.read()


class CheckpointTest(LibraryTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "run.ckpt"
        forget_claims()

    def save(self, content):
        with muster.checkpoint(self.path) as file:
            file.write(content)

    def names(self):
        return sorted(os.listdir(self.folder))

    def copy(self, body, epoch, job=7, home="/nowhere", **more):
        indented = "\n".join("    " + line for line in body.strip().splitlines())
        return self.start(COPY.format(body=indented), **lease(job, epoch, home, **more))


class Whole(CheckpointTest):
    def test_outside_muster_it_is_just_a_file(self):
        self.assertIsNone(muster.resume(self.path, pickle.load))
        self.save(b"one")
        self.save(b"two")
        self.assertEqual(muster.resume(self.path, read), b"two")
        self.assertEqual(self.names(), ["run.ckpt"])

    def test_an_error_changes_nothing(self):
        self.save(b"old")
        with self.assertRaises(KeyError), muster.checkpoint(self.path) as file:
            file.write(b"half")
            raise KeyError
        self.assertEqual((self.path.read_bytes(), self.names()), (b"old", ["run.ckpt"]))

    def test_a_full_disk_changes_nothing(self):
        self.save(b"old")
        with mock.patch("os.fsync", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(OSError, "No space left"):
                self.save(b"new")
        self.assertEqual((self.path.read_bytes(), self.names()), (b"old", ["run.ckpt"]))

    def test_a_file_that_was_closed_is_saved(self):
        with muster.checkpoint(self.path) as file:
            file.write(b"all")
            file.close()
        self.assertEqual(self.path.read_bytes(), b"all")

    def test_folders_are_made_and_links_followed(self):
        link = self.folder / "link"
        link.symlink_to(self.folder / "deep" / "run.ckpt")
        with muster.checkpoint(link) as file:
            file.write(b"there")
        self.assertTrue(link.is_symlink())
        self.assertEqual((self.folder / "deep" / "run.ckpt").read_bytes(), b"there")

    def test_on_disk_before_it_takes_its_name(self):
        order = []
        real_fsync, real_replace = os.fsync, os.replace

        def fsync(file):
            order.append("sync " + pathlib.Path(os.readlink(f"/proc/self/fd/{file}")).name[-9:])
            real_fsync(file)

        def replace(old, new):
            order.append("rename")
            real_replace(old, new)
        with mock.patch("os.fsync", fsync), mock.patch("os.replace", replace):
            self.save(b"x")
        folder = self.folder.name[-9:]
        self.assertRegex(" ".join(order), rf"^sync \S+\.saving rename sync {folder}$")

    def test_killed_in_the_middle_the_old_one_is_whole(self):
        body = """
with muster.checkpoint("run.ckpt") as file: file.write(b"old" * 1000)
with muster.checkpoint("run.ckpt") as file:
    file.write(b"new" * 500)
    file.flush()
    say("half")
    wait()
"""
        process = self.copy(body, 1)
        self.says(process, "half")
        self.assertEqual(len(self.names()), 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(self.path.read_bytes(), b"old" * 1000)
        # The next process that saves removes the unfinished file.
        with mock.patch.dict(os.environ, lease(epoch=2)):
            self.assertEqual(muster.resume(self.path, read), b"old" * 1000)
            self.save(b"newer")
        self.assertEqual(self.names(), ["run.ckpt", "run.ckpt.lease"])

    def test_the_manager_is_told(self):
        progress = self.folder / "progress"
        with mock.patch.dict(os.environ, {**lease(), "MUSTER_PROGRESS": str(progress)}):
            self.save(b"x")
        self.assertEqual(progress.read_text(), '{"saved":true}\n')


class Stale(CheckpointTest):
    """Two live copies of a job."""
    OLD = """
muster.resume("run.ckpt", pickle.load)
with muster.checkpoint("run.ckpt") as file: file.write(b"of lease 1")
say("saved")
wait()
with muster.checkpoint("run.ckpt") as file: file.write(b"STALE")
say("saved")
"""

    def expect_stale(self, process, words):
        self.says(process, "stale")
        self.says(process, words)
        self.assertEqual(process.wait(60), 0)

    def words(self, path="run.ckpt"):
        return (f"{os.path.realpath(self.folder)}/{path} now belongs to lease 2 of job 7, so this "
                "copy, lease 1, cannot save it; end this copy")

    def test_a_stale_copy_cannot_save(self):
        old = self.copy(self.OLD, 1)
        self.says(old, "saved")
        new = self.copy("""
say(muster.resume("run.ckpt", lambda file: file.read().decode()))
wait()
with muster.checkpoint("run.ckpt") as file: file.write(b"of lease 2")
say("saved")
wait()
""", 2)
        self.says(new, "of lease 1")
        self.tell(old)  # Before the new one has saved anything.
        self.expect_stale(old, self.words())
        self.assertEqual(self.path.read_bytes(), b"of lease 1")
        self.tell(new)
        self.says(new, "saved")
        self.assertEqual(self.path.read_bytes(), b"of lease 2")
        self.assertEqual(self.names(), ["run.ckpt", "run.ckpt.lease"])

    def test_nor_one_that_is_in_the_middle_of_it(self):
        old = self.copy("""
with muster.checkpoint("run.ckpt") as file:
    file.write(b"STALE")
    say("half")
    wait()
say("saved")
""", 1)
        self.says(old, "half")
        new = self.copy("muster.claim('run.ckpt')", 2)
        self.assertEqual(new.wait(60), 0)
        self.tell(old)
        self.expect_stale(old, self.words())
        self.assertEqual(self.names(), ["run.ckpt.lease"])

    def test_nor_can_it_take_the_checkpoint_back(self):
        new = self.copy("with muster.checkpoint('run.ckpt') as file: file.write(b'new')", 2)
        self.assertEqual(new.wait(60), 0)
        old = self.copy("muster.resume('run.ckpt', pickle.load)", 1)
        self.expect_stale(old, self.words())

    def test_many_copies_that_save_as_they_can(self):
        """In any order, the final checkpoint is that of the newest lease."""
        body = """
wait()
muster.claim("run.ckpt")
for _ in range(50):
    with muster.checkpoint("run.ckpt") as file: file.write(b"%d" % muster.current_lease().epoch)
say("saved")
"""
        copies = [self.copy(body, epoch) for epoch in (1, 2, 3)]
        for process in copies:
            self.tell(process)
        ends = [process.communicate(timeout=60)[0].split("\n")[0] for process in copies]
        self.assertEqual(ends[2], "saved")
        self.assertLessEqual(set(ends[:2]), {"saved", "stale"})
        self.assertEqual(self.path.read_bytes(), b"3")
        self.assertEqual(self.names(), ["run.ckpt", "run.ckpt.lease"])


class OtherJobs(CheckpointTest):
    def test_whoever_came_last_has_it(self):
        """A job may resume from the checkpoint of another job with any number."""
        with mock.patch.dict(os.environ, lease(9, 4)):
            self.save(b"nine")
        old = self.copy(Stale.OLD.replace("pickle.load", "str"), 1)
        self.says(old, "saved")
        with mock.patch.dict(os.environ, lease(2, 1)):
            forget_claims()
            muster.claim(self.path)
        self.tell(old)
        self.says(old, "stale")
        self.says(old, f"{os.path.realpath(self.path)} now belongs to job 2, so job 7 cannot save "
                       "it; use a separate checkpoint for each job")

    def test_another_managers_leases_are_not_older_or_newer(self):
        with mock.patch.dict(os.environ, lease(7, 5, "/one")):
            self.save(b"five")
        other = self.copy("with muster.checkpoint('run.ckpt') as file: file.write(b'one')", 1,
                          home="/two")
        self.assertEqual((other.wait(60), self.path.read_bytes()), (0, b"one"))

    def test_a_manager_whose_home_was_wiped_is_another(self):
        """Its jobs count from 1 again, in the same directory."""
        with mock.patch.dict(os.environ, lease(1, 5, MUSTER_MANAGER="aa")):
            self.save(b"five")
        other = self.copy("with muster.checkpoint('run.ckpt') as file: file.write(b'one')", 1,
                          job=1, MUSTER_MANAGER="bb")
        self.assertEqual((other.wait(60), self.path.read_bytes()), (0, b"one"))

    def test_a_spoilt_record_is_nobodys(self):
        (self.folder / "run.ckpt.lease").write_bytes(b"\0\0nonsense")
        with mock.patch.dict(os.environ, lease()):
            self.save(b"x")
        self.assertEqual(self.path.read_bytes(), b"x")

    def test_only_looking_outside_muster_takes_nothing_over(self):
        with mock.patch.dict(os.environ, lease(7, 1)):
            self.save(b"x")
            before = (self.folder / "run.ckpt.lease").read_bytes()
        self.assertEqual(muster.resume(self.path, read), b"x")
        self.assertEqual((self.folder / "run.ckpt.lease").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
