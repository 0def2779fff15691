"""The client, against a made-up manager; tests/live_python_test.py asks a real one."""

import http.server
import json
import os
import socket
import socketserver
import ssl
import threading
import unittest
from unittest import mock

from helper import LibraryTest

import muster
from muster.where import find_manager


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what the test has laid out, in order, and keeps what was asked."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size)) if size else None
        self.server.asked.append((self.command, self.path, body, dict(self.headers)))
        status, kind, text = self.server.answers.pop(0)
        self.close_connection = True
        if status == 0:
            return  # Hangs up.
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Muster-Log-Size", str(self.server.log_size))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer

    def address_string(self):
        return "test"

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    log_size = 0


class ClientTest(LibraryTest):
    def setUp(self):
        super().setUp()
        self.socket = str(self.folder / "muster.sock")
        os.environ["MUSTER_HOME"] = str(self.folder)
        self.server = Server(self.socket, Handler)
        self.server.asked, self.server.answers = [], []
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.client = muster.Client()

    def will(self, *answers):
        """Objects as JSON, text as a stream of events, (status, object), or None: hangs up."""
        for answer in answers:
            status, body = answer if isinstance(answer, tuple) else (200, answer)
            if body is None:
                self.server.answers.append((0, "", ""))
            elif isinstance(body, str):
                self.server.answers.append((status, "text/event-stream", body))
            else:
                self.server.answers.append((status, "application/json", json.dumps(body)))


class Asks(ClientTest):
    def test_submit(self):
        self.will((201, {"id": 12, "ids": [12], "key_seen": False}))
        job = self.client.submit(["python3", "train.py", 3], gpus=2, env={"DATA": 1}, key="k")
        self.assertEqual(job, 12)
        method, path, body, headers = self.server.asked[0]
        self.assertEqual((method, path, headers["Idempotency-Key"]), ("POST", "/v1/jobs", "k"))
        self.assertEqual(body["command"], ["python3", "train.py", "3"])
        self.assertEqual((body["gpus"], body["cwd"]), (2, os.getcwd()))
        self.assertEqual((body["env"]["DATA"], body["env"]["PATH"]), ("1", os.environ["PATH"]))

    def test_submit_in_a_path(self):
        self.will((201, {"id": 12, "ids": [12], "key_seen": False}))
        self.client.submit("true", cwd=self.folder)
        self.assertEqual(self.server.asked[0][2]["cwd"], str(self.folder))

    def test_submit_again_with_the_same_key_when_the_answer_is_lost(self):
        self.will(None, {"id": 12, "ids": [12], "key_seen": True})
        with mock.patch("muster.client.time.sleep"):
            self.assertEqual(self.client.submit("true"), 12)
        keys = [headers["Idempotency-Key"] for _, _, _, headers in self.server.asked]
        self.assertEqual(len(keys), 2)
        self.assertEqual(keys[0], keys[1])

    def test_an_array(self):
        self.will((201, {"id": 3, "ids": [3, 4], "key_seen": False}))
        self.assertEqual(self.client.submit_array("true", "0-1"), [3, 4])
        self.assertEqual(self.server.asked[0][2]["array"], "0-1")

    def test_the_verbs(self):
        for call, asked in ((lambda: self.client.status(5), "GET /v1/jobs/5"),
                            (lambda: self.client.why("5"), "GET /v1/jobs/5/why"),
                            (lambda: self.client.cancel("5_*"), "POST /v1/jobs/5_%2A/cancel"),
                            (lambda: self.client.hold(5), "POST /v1/jobs/5/hold"),
                            (lambda: self.client.release(5), "POST /v1/jobs/5/release"),
                            (lambda: self.client.plan("true"), "POST /v1/plan")):
            self.will({"id": 5})
            self.assertEqual(call(), {"id": 5})
            self.assertEqual(" ".join(self.server.asked[-1][:2]), asked)

    def test_eta(self):
        self.will({"id": 5, "eta": {"likely": 9}}, {"id": 5})
        self.assertEqual(self.client.eta(5), {"likely": 9})
        self.assertIsNone(self.client.eta(5))

    def test_the_queue_page_by_page(self):
        self.will({"jobs": [{"id": 1}, {"id": 2}], "total": 3}, {"jobs": [{"id": 3}], "total": 3})
        self.assertEqual([job["id"] for job in self.client.queue("all", user="ann")], [1, 2, 3])
        self.assertEqual(self.server.asked[1][1],
                         "/v1/jobs?user=ann&state=all&limit=1000&offset=2")

    def test_wait_over_a_broken_stream(self):
        running = {"id": 5, "state": "running"}
        self.will(running, "id: 7\ndata: {}\n\n", running, None, running, "event: end\n\n",
                  {"id": 5, "state": "done"})
        self.assertEqual(self.client.wait(5), {"id": 5, "state": "done"})
        self.assertEqual(self.server.asked[3][3]["Last-Event-ID"], "7")

    def test_wait_no_longer_than_asked(self):
        self.will({"id": 5, "state": "queued"})
        with self.assertRaisesRegex(TimeoutError, "^job 5 is still queued after 0 s$"):
            self.client.wait(5, timeout=0)

    def test_logs_in_pages(self):
        self.server.log_size = 5
        self.server.answers += [(200, "text/plain", "abc"), (200, "text/plain", "de")]
        self.assertEqual(self.client.logs(5, lease=2), "abcde")
        self.assertIn("offset=3&", self.server.asked[1][1])

    def test_follow_from_lease_to_lease(self):
        running, done = {"id": 5, "state": "running", "leases_used": 1}, {"state": "done", "id": 5}
        self.will(running, 'id: 3\ndata: "ab\\n"\n\n', None, running, (503, {"error": "starting"}),
                  running, 'id: 6\ndata: "cd\\n"\n\nevent: end\n\n',
                  {**done, "leases_used": 2}, 'data: "ef"\n\nevent: end\n\n',
                  {**done, "leases_used": 2})
        self.assertEqual(list(self.client.follow(5)), ["ab\n", "cd\n", "ef"])
        self.assertIn("offset=3", self.server.asked[2][1])

    def test_follow_misses_no_lease_in_between(self):
        """While the first was read, a second came and went; the third printed nothing."""
        running, done = ({"id": 5, "state": state, "leases_used": used}
                         for state, used in (("running", 1), ("done", 4)))
        self.will(running, 'data: "a"\n\nevent: end\n\n', done, 'data: "b"\n\nevent: end\n\n',
                  done, (404, {"error": "no log"}), done,
                  done, 'data: "d"\n\nevent: end\n\n', done)
        self.assertEqual(list(self.client.follow(5)), ["a", "b", "d"])
        asked = [path for _, path, _, _ in self.server.asked if "/log" in path]
        self.assertEqual([path.split("lease=")[1][0] for path in asked], list("1234"))

    def test_follow_one_lease_that_will_never_print(self):
        running = {"id": 5, "state": "running", "leases_used": 2}
        self.will(running, (404, {"error": "no log of lease 1"}), running)
        with self.assertRaisesRegex(muster.MusterError, "^no log of lease 1$"):
            list(self.client.follow(5, lease=1))


class Refusals(ClientTest):
    def test_in_the_managers_words(self):
        self.will((404, {"error": "no job 5"}))
        with self.assertRaises(muster.MusterError) as caught:
            self.client.status(5)
        self.assertEqual((str(caught.exception), caught.exception.status), ("no job 5", 404))

    def test_without_words(self):
        self.server.answers.append((500, "text/plain", "oops"))
        with self.assertRaisesRegex(muster.MusterError, "status 500 and no message"):
            self.client.status(5)

    def test_what_is_not_json(self):
        for text in ("<html>", "\x80", "[]", ""):
            self.server.answers.append((200, "text/html", text))
            with self.assertRaisesRegex(muster.MusterError, "^the answer from .* is not a JSON"):
                self.client.status(5)

    def test_an_event_that_is_not_json(self):
        self.will({"id": 5, "state": "running", "leases_used": 1}, "data: ab\n\n")
        with self.assertRaisesRegex(muster.MusterError, "event from .*sock is not JSON: 'ab'"):
            list(self.client.follow(5))

    def test_nobody_there(self):
        with self.assertRaises(muster.MusterError) as caught:
            muster.Client(str(self.folder / "none.sock")).status(1)
        self.assertEqual(str(caught.exception), f"no manager answers at {self.folder}/none.sock; "
                         "start one with 'muster serve'")

    def test_no_tls(self):
        with mock.patch("muster.where._UnixConnection.connect", side_effect=ssl.SSLError(1, "no")):
            with self.assertRaisesRegex(muster.MusterError, "TLS handshake with .* failed: .*; set MUSTER_CA"):
                self.client.status(1)

    def test_no_answer_in_time(self):
        silent = socket.socket(socket.AF_UNIX)
        self.addCleanup(silent.close)
        silent.bind(str(self.folder / "silent.sock"))
        silent.listen()
        with self.assertRaisesRegex(muster.MusterError, "silent.sock does not answer in time"):
            muster.Client(str(self.folder / "silent.sock"), timeout=0.05).status(1)


class FindsTheManager(LibraryTest):
    def found(self, server=None, **env):
        with mock.patch.dict(os.environ, {"HOME": str(self.folder), **env}):
            return find_manager(server)

    def test_the_socket(self):
        os.environ.pop("XDG_STATE_HOME", None)
        self.assertEqual(str(self.found()), f"{self.folder}/.local/state/muster/muster.sock")
        self.assertEqual(str(self.found(XDG_STATE_HOME="/s")), "/s/muster/muster.sock")
        self.assertEqual(str(self.found(XDG_STATE_HOME="/s", MUSTER_HOME="/h")), "/h/muster.sock")
        self.assertEqual(str(self.found(MUSTER_SERVER="unix:/x")), "/x")
        self.assertEqual(str(self.found("/y", MUSTER_SERVER="unix:/x")), "/y")

    def test_a_server_with_a_token(self):
        where = self.found("https://gpu", MUSTER_TOKEN="abc")
        self.assertEqual((str(where), where.headers()),
                         ("https://gpu:443", {"Authorization": "Bearer abc"}))
        self.assertEqual(str(self.found(MUSTER_SERVER="http://[::1]:8080/")), "http://[::1]:8080")

    def test_a_token_that_is_kept(self):
        token = self.folder / "token"
        token.write_text("secret\n")
        token.chmod(0o600)
        self.assertEqual(self.found("http://gpu:80", MUSTER_HOME=str(self.folder)).token, "secret")
        token.chmod(0o644)
        with self.assertRaisesRegex(muster.MusterError, "other users can read this token; run"):
            self.found("http://gpu:80", MUSTER_HOME=str(self.folder))

    def test_a_token_that_cannot_be_read(self):
        token = self.folder / "token"
        token.write_bytes(b"\xff\n")
        token.chmod(0o600)
        with self.assertRaisesRegex(muster.MusterError, "/token: cannot be read: it is not text$"):
            self.found("http://gpu:80", MUSTER_HOME=str(self.folder))
        token.unlink()
        token.mkdir(0o700)
        with self.assertRaisesRegex(muster.MusterError, "/token: cannot be read: Is a directory$"):
            self.found("http://gpu:80", MUSTER_HOME=str(self.folder))

    def test_what_is_no_server(self):
        for server in ("gpu", "http://", "http://gpu:0x", "http://a@b", "http://gpu/path",
                       "ftp://x/y", "/" + "x" * 200):
            with self.assertRaises(muster.MusterError, msg=server):
                self.found(server)


if __name__ == "__main__":
    unittest.main()
