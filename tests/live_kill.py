"""Helpers for tests that kill the live manager and check it with muster-invariants.

    class SomeTest(KillTest):
        def test_it(self):
            home = self.home()
            home.start()
            self.finish(home)
"""

import os
import signal
import sys
import unittest

from live_home import Home

LONG = os.environ.get("MUSTER_LONG") == "1"


class Programs:
    """Paths of the programs, set by main()."""
    muster = ""
    invariants = ""


def main():
    """tests/X.py MUSTER INVARIANTS [TEST...]"""
    Programs.muster, Programs.invariants = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(module="__main__", argv=[sys.argv[0], "-v", *sys.argv[3:]])


class KillTest(unittest.TestCase):
    def home(self, **more):
        home = Home(Programs.muster, Programs.invariants, **more).__enter__()
        self.addCleanup(home.__exit__)
        return home

    def finish(self, home, undisturbed=()):
        """Waits until all jobs have ended, the undisturbed ones in their first lease. Then ends the
        daemon and checks the invariants."""
        for job in undisturbed:
            self.assertEqual(home.wait_for(job, ["done"])["leases_used"], 1)
        home.wait_until_idle()
        home.kill()
        home.check()
        home.start()
        self.assertEqual(home.end(signal.SIGTERM), 0, home.said())
        print(f"{self.id().split('.')[-1]}: {home.check()}", flush=True)
