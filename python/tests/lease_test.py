"""Which lease, which rank, and whether to stop."""

import os
import signal
import unittest
from unittest import mock

from helper import LibraryTest, lease

import muster


class Environment(LibraryTest):
    def test_outside_muster(self):
        self.assertIsNone(muster.current_lease())
        self.assertEqual((muster.rank(), muster.world_size(), muster.local_rank()), (0, 1, 0))

    def test_of_a_job(self):
        with mock.patch.dict(os.environ, lease(12, 3, RANK="5", WORLD_SIZE="8", LOCAL_RANK="1")):
            self.assertEqual(muster.current_lease()[1:], (12, 3))
            self.assertEqual((muster.rank(), muster.world_size(), muster.local_rank()), (5, 8, 1))

    def test_two_managers_are_told_apart(self):
        found = set()
        for home in ("/a", "/b"):
            with mock.patch.dict(os.environ, lease(home=home)):
                found.add(muster.current_lease().manager)
        self.assertEqual(len(found), 2)

    def test_a_manager_that_says_who_it_is_is_known_by_that(self):
        with mock.patch.dict(os.environ, lease(home="/a", MUSTER_MANAGER="0123456789abcdef")):
            self.assertEqual(muster.current_lease().manager, "0123456789abcdef")

    def test_what_is_no_number_is_named(self):
        with mock.patch.dict(os.environ, {"RANK": "first"}):
            with self.assertRaisesRegex(ValueError, "^RANK is 'first' in the environment; it must"):
                muster.rank()


class Stops(LibraryTest):
    """These tests run separate processes, because they send signals."""

    def run_code(self, code, status=0):
        process = self.start("import muster, os, signal, time\n" + code)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, err)
        return out

    def test_sigterm_asks_to_stop(self):
        self.assertEqual(self.run_code(
            "muster.watch(); print(muster.should_stop())\n"
            "os.kill(os.getpid(), signal.SIGTERM); print(muster.should_stop())"), "False\nTrue\n")

    def test_nothing_is_caught_by_the_import(self):
        self.run_code("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM)

    def test_an_earlier_handler_is_called_too(self):
        self.assertEqual(self.run_code(
            "signal.signal(signal.SIGTERM, lambda *_: print('earlier'))\n"
            "muster.watch(); muster.watch()\n"
            "os.kill(os.getpid(), signal.SIGTERM); print(muster.should_stop())"), "earlier\nTrue\n")

    def test_a_forked_helper_can_be_terminated(self):
        self.assertEqual(self.run_code(
            "import multiprocessing\n"
            "muster.watch()\n"
            "helper = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))\n"
            "helper.start(); helper.terminate(); helper.join(30); print(helper.exitcode)"), "-15\n")

    def test_a_helper_apart_is_not_reached_with_the_group(self):
        self.assertEqual(self.run_code(
            "import multiprocessing\n"
            "os.setpgid(0, 0); muster.watch()\n"
            "with multiprocessing.Pool(1, muster.apart) as pool:\n"
            "  pool.apply(int)\n"
            "  os.killpg(0, signal.SIGTERM)\n"
            "  print(pool.apply(abs, (-3,)), muster.should_stop())"), "3 True\n")

    def test_in_another_thread_it_says_it_cannot(self):
        self.assertEqual(self.run_code(
            "import threading\n"
            "t = threading.Thread(target=lambda: print(muster.watch())); t.start(); t.join()"),
            "False\n")

    def test_for_reasons_of_its_own(self):
        self.assertEqual(self.run_code(
            "muster.request_stop(); print(muster.should_stop())"), "True\n")


if __name__ == "__main__":
    unittest.main()
