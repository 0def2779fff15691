#!/usr/bin/env python3
"""The command muster serve: --check, --background, --stop, with real managers.

    tests/live_serve_test.py MUSTER TRAINER [TEST...]
"""

import json
import signal
import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest  # noqa: E402


class Serving(LiveTest):
    """The command muster serve: --check, --background."""

    def test_background_takes_the_place_of_one_that_dies(self):
        job = self.submit("--", "sleep", "60")
        self.wait_state(job, "running")
        # Its socket still accepts connections, like the socket of a large process that was killed.
        self.daemon.process.send_signal(signal.SIGSTOP)
        verb = self.daemon.verb("serve", "--background")
        time.sleep(1.5)
        self.assertIsNone(verb.poll())
        self.daemon.kill()
        out, err = verb.communicate(timeout=30)
        self.assertEqual((verb.returncode, err), (0, b""))
        self.assertIn(b"serving on", out)
        try:
            self.assertEqual(self.daemon.job(job)["state"], "running")
            self.assertIn("already", self.daemon.muster("serve", "--background")[0])
            self.daemon.config({"grace": "7s"})
            _, err = self.daemon.muster("serve", "--background", status=1)
            self.assertIn("already running", err)
            self.assertIn("restart it", err)
        finally:
            self.daemon.muster("serve", "--stop")

    def test_check_refuses_what_serve_refuses(self):
        daemon = self.daemon_with({"grace": "1s"}, start=False)
        self.assertIn("is valid", daemon.muster("serve", "--check")[0])
        tokens = daemon.home / "tokens"
        tokens.write_text("")
        tokens.chmod(0o600)
        tcp = {"tokens": str(tokens), "tcp": "127.0.0.1:0"}
        for listen, words in (({**tcp, "tcp": "0.0.0.0:7077"}, "unencrypted"),
                              ({**tcp, "tcp": "localhost:7077"}, "127.0.0.1:7077"),
                              ({**tcp, "tokens": "/no/tokens"}, "/no/tokens: No such file"),
                              ({**tcp, "certificate": "/no/c", "key": "/no/k"}, "/no/c: No such")):
            daemon.config({"listen": listen})
            for check in (["--check"], []):
                out, err = daemon.muster("serve", *check, status=2 if check else 1)
                self.assertIn(words, err)
                self.assertNotIn("is valid", out)
        daemon.config({})
        (daemon.home / "signatures.yaml").write_text("nonsense: [")
        self.assertIn("signatures.yaml", daemon.muster("serve", "--check", status=2)[1])
        self.assertFalse((daemon.home / "journal.db").exists())

    def test_check_says_which_field_is_wrong(self):
        daemon = self.daemon_with(start=False)
        for config, words in (
                ({"scheduler": {"policy": "fifoo"}},
                 "config.yaml: scheduler.policy: unknown policy 'fifoo'; did you mean 'fifo'?"),
                ({"virtual_gpus": 0}, "config.yaml:1: virtual_gpus: not between 1 and 64: '0'"),
                ({"tenants": {"list": [{"name": "a", "quota": 99}]}}, "config.yaml:1: ")):
            daemon.config(config)
            self.assertIn(words, daemon.muster("serve", "--check", status=2)[1])
            answer = json.loads(daemon.muster("serve", "--check", "--json", status=2)[0])
            self.assertFalse(answer["ok"])
            self.assertIn(words, answer["error"])


if __name__ == "__main__":
    live_daemon.main(__doc__)
