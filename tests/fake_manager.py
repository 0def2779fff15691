"""A fake manager with the API of docs/reference/api.md and data from the test; on a Unix socket, or
with TLS on TCP if given a certificate.

    with FakeManager(path) as manager:
        manager.jobs[12] = {"id": 12, "state": "running"}

manager.asked lists the requests as (method, target, headers, body).
"""

import http.server
import json
import socketserver
import ssl
import threading
import time
import urllib.parse

END = b"event: end\ndata: {}\n\n"
# The order of states in lists; finished jobs come last, newest first.
TURNS = {"running": 0, "stopping": 0, "starting": 1, "queued": 2, "retrying": 2, "blocked": 3,
         "held": 4}
OVER = ("done", "failed", "cancelled", "rejected")


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class FakeManager:
    def __init__(self, path=None, certificate=None):
        self.jobs = {}      # id -> job
        self.nodes = []
        self.tenants = []
        self.forecasts = {}  # In the answer of /v1/fleet.
        self.events = []    # Events of all jobs, in order.
        self.logs = {}      # id -> [bytes so far, finished]
        self.asked = []
        self.keys = {}      # Idempotency-Key -> ids
        self.break_after = []  # For each future stream: the number of events until it breaks.
        self.lose_answers = 0  # Number of submissions that are executed but get no answer.
        self.dropped = False  # If true, there are no answers at all.
        self.changed = threading.Condition()
        manager = self

        class Handler(RequestHandler):
            pass
        Handler.manager = manager

        kind = socketserver.UnixStreamServer if path else socketserver.TCPServer

        class Server(socketserver.ThreadingMixIn, kind):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # Clients may disconnect at any time.
        self.server = Server(str(path) if path else ("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def wait_asked(self, part, times=1):
        """Waits until this many requests with this text in their targets have arrived."""
        end = time.monotonic() + 120
        while sum(part in target for _, target, _, _ in list(self.asked)) < times:
            assert time.monotonic() < end, f"{part} is not asked for: {self.asked}"
            time.sleep(0.01)

    def drop_connections(self):
        self.dropped = True

    def change(self, act):
        """Makes a change that followers must be notified of."""
        with self.changed:
            act()
            self.changed.notify_all()

    def happen(self, job, kind, **fields):
        def act():
            self.jobs[job].update(fields)
            self.events.append({"number": len(self.events) + 1, "at": time.time(), "job": job,
                                "kind": kind, "words": f"job {job} {kind}"})
        self.change(act)

    def write(self, job, text, over=False):
        def act():
            log = self.logs.setdefault(job, [b"", False])
            log[0] += text
            log[1] = over
        self.change(act)

    def find(self, name):
        if not name.isdigit():
            raise Refused(400, f"not an id: '{name}'")
        if int(name) in self.jobs:
            return self.jobs[int(name)]
        found = [i for i in self.jobs if str(i).startswith(name)]
        if not found:
            raise Refused(404, f"no job '{name}'")
        if len(found) > 1:
            raise Refused(409, f"'{name}' is ambiguous: " + ", ".join(map(str, sorted(found))))
        return self.jobs[found[0]]


class RequestHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    manager = None

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.handle_one("")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.handle_one(body)

    def handle_one(self, body):
        m = self.manager
        if m.dropped:
            self.close_connection = True
            return
        m.asked.append((self.command, self.path, dict(self.headers), body))
        url = urllib.parse.urlsplit(self.path)
        words = [urllib.parse.unquote(w) for w in url.path.split("/")[1:]]
        query = dict(urllib.parse.parse_qsl(url.query))
        try:
            self.route(words, query, body)
        except Refused as refused:
            self.answer({"error": str(refused)}, refused.status)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def route(self, words, query, body):
        m = self.manager
        if words == ["v1", "jobs"] and self.command == "POST":
            return self.submit(body)
        if words == ["v1", "jobs"]:
            return self.list_jobs(query)
        if words[:2] == ["v1", "jobs"] and len(words) == 3:
            return self.answer(m.find(words[2]))
        if words[:2] == ["v1", "jobs"] and words[3] == "log":
            return self.log(m.find(words[2])["id"], query)
        if words[:2] == ["v1", "jobs"] and words[3] == "events":
            return self.show_events(query, m.find(words[2])["id"])
        if words[:2] == ["v1", "jobs"] and words[2].endswith("_*"):
            return self.change_array(words[2][:-2], words[3])
        if words[:2] == ["v1", "jobs"] and words[3] == "retry":
            old = m.find(words[2])
            if old["state"] not in OVER:
                raise Refused(409, f"job {old['id']} is still active: {old['state']}")
            fresh = max(m.jobs) + 1
            m.jobs[fresh] = {**old, "id": fresh, "state": "queued"}
            return self.answer({"id": fresh, "of": old["id"]}, 201)
        if words[:2] == ["v1", "jobs"]:
            job = m.find(words[2])
            if job["state"] in OVER:
                raise Refused(409, f"job {job['id']} is finished")
            job["state"] = {"cancel": "cancelled", "hold": "held", "release": "queued"}[words[3]]
            array = {"array": job["array"]} if "array" in job else {}
            return self.answer({"id": job["id"], "state": job["state"], **array})
        if words == ["v1", "nodes"]:
            return self.answer({"nodes": m.nodes})
        if words[:2] == ["v1", "nodes"]:
            node = next((n for n in m.nodes if n["name"] == words[2]), None)
            if node is None:
                raise Refused(404, f"no node '{words[2]}'")
            node["open"] = words[3] == "undrain"
            end = json.loads(body) if body else {}
            return self.answer({"name": node["name"], "open": node["open"], **end})
        if words == ["v1", "fleet"]:
            return self.answer({"forecasts": m.forecasts})
        if words == ["v1", "tenants"]:
            return self.answer({"tenants": m.tenants})
        if words == ["v1", "events"]:
            return self.show_events(query, None)
        raise Refused(404, "no such thing")

    def change_array(self, array, act):
        changed = [job for job in self.manager.jobs.values()
                   if str(job.get("array")) == array and job["state"] not in OVER]
        for job in changed:
            job["state"] = {"cancel": "cancelled", "hold": "held", "release": "queued"}[act]
        jobs = [{"id": job["id"], "state": job["state"]} for job in changed]
        self.answer({**jobs[0], "array": int(array), "jobs": jobs})

    def submit(self, body):
        m = self.manager
        key = self.headers.get("Idempotency-Key", "")
        seen = key in m.keys
        if not seen:
            request = json.loads(body)
            first = max(m.jobs, default=0) + 1
            m.jobs[first] = {"id": first, "name": request.get("name", "?"), "state": "queued",
                             "gpus": request.get("gpus", 1), "request": request, "user": "ann",
                             "submitted": time.time()}
            m.keys[key] = [first]
        if m.lose_answers > 0:
            m.lose_answers -= 1
            self.close_connection = True
            return
        ids = m.keys[key]
        self.answer({"id": ids[0], "ids": ids, "key_seen": seen}, 200 if seen else 201)

    def list_jobs(self, query):
        m = self.manager
        state = query.get("state", "active")

        def wanted(job):
            over = job["state"] in OVER
            right = {"active": not over, "ended": over, "all": True}.get(state,
                                                                         job["state"] == state)
            if "array" in query and str(job.get("array")) != query["array"]:
                return False
            return right and all(query.get(k, job.get(k)) == job.get(k) for k in ("user", "tenant"))

        def place(job):
            turn = TURNS.get(job["state"], 5)
            return (turn, -job.get("priority", 0) if turn == 2 else 0,
                    -job["id"] if turn == 5 else job["id"])
        jobs = sorted((job for job in m.jobs.values() if wanted(job)), key=place)
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", 50))
        self.answer({"jobs": jobs[offset:offset + limit], "total": len(jobs)})

    def log(self, job, query):
        m = self.manager
        if job not in m.logs:
            raise Refused(404, f"job {job} has no output yet")
        text, over = m.logs[job]
        offset = int(query.get("offset", 0))
        offset = max(0, len(text) + offset) if offset < 0 else offset
        if "follow" in query:
            return self.follow_log(job, offset)
        limit = int(query.get("limit", len(text)))
        self.answer_bytes(text[offset:offset + limit], "text/plain",
                          {"Muster-Log-Size": str(len(text)), "Muster-Log-Over": str(int(over))})

    def follow_log(self, job, offset):
        m = self.manager

        def more(at):
            text, over = m.logs[job]
            if at < len(text):
                end = text.find(b"\n", at) + 1 or len(text)
                piece = json.dumps(text[at:end].decode(errors="replace")).encode()
                # The server's count of bytes, if the client would compute another one.
                count = b"" if b"\xff" not in text else b"id: %d\n" % end
                return end, count + b"data: " + piece + b"\n\n"
            return at, (END if over else None)
        self.stream(offset, more)

    def show_events(self, query, job):
        m = self.manager
        after = int(self.headers.get("Last-Event-ID", query.get("after", 0)))
        mine = [e for e in m.events if job in (None, e["job"])]
        if "follow" not in query:
            found = [e for e in mine if e["number"] > after]
            return self.answer({"events": found[:int(query.get("limit", 1000))]})

        def more(at):
            for event in m.events[at:]:
                if job in (None, event["job"]):
                    line = json.dumps(event).encode()
                    return event["number"], b"id: %d\ndata: %s\n\n" % (event["number"], line)
            over = job is not None and m.jobs[job]["state"] in OVER
            return len(m.events), END if over else None
        self.stream(after, more)

    def stream(self, at, more):
        m = self.manager
        until_break = m.break_after.pop(0) if m.break_after else 1 << 30
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            with m.changed:
                at, event = more(at)
                if event is None:
                    m.changed.wait(0.1)
                    continue
            if until_break <= 0:
                self.close_connection = True
                return
            until_break -= 1
            half = len(event) // 2
            for piece in (event[:half], event[half:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if event == END:
                self.wfile.write(b"0\r\n\r\n")
                return

    def answer(self, value, status=200):
        self.answer_bytes(json.dumps(value).encode(), "application/json", {}, status)

    def answer_bytes(self, data, kind, headers, status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
