"""Python client of the manager: submit, query, wait for, explain and cancel jobs, read output.

    client = muster.Client()
    job = client.submit(["python3", "train.py"], gpus=2, name="resnet")
    print(client.why(job)["why"])
    for text in client.follow(job):
        print(text, end="")
    assert client.wait(job)["state"] == "done"

Jobs, answers and requests are dictionaries with the keys of docs/reference/api.md.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import socket
import ssl
import time
import urllib.parse
from typing import (Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple,
                    Union)

from .where import MusterError, Where, find_manager

__all__ = ["Client", "MusterError", "OVER"]

OVER = ("done", "failed", "cancelled", "rejected")
Id = Union[int, str]
Answer = Dict[str, Any]

# Variables that a program needs to start as it does here. Other variables may contain secrets.
_USUAL = ("PATH", "HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH")
_PAGE = 1 << 20
_STREAM_WAIT = 60.0  # Timeout of a stream in seconds; the manager sends a keep-alive every 15.
_PATIENCE = 60.0  # Seconds to wait for a manager that does not answer, e.g. during a restart.


class _NeverPrinted(MusterError):
    """A lease ended without a log, and there is a later lease."""


class _Event(NamedTuple):
    kind: str
    data: str
    id: str


class Client:
    """Connects to the manager at `server`: the path of a socket, or http(s)://HOST:PORT. The
    default is that of the command line: MUSTER_SERVER, or the socket in MUSTER_HOME. Uses the token
    in MUSTER_TOKEN, or in the file `token` in MUSTER_HOME. Refused requests raise MusterError."""

    def __init__(self, server: Optional[str] = None, timeout: float = 30.0) -> None:
        self.where: Where = find_manager(server)
        self.timeout = timeout

    # ---- jobs

    def submit(self, command: Union[str, Sequence[str]], *, key: Optional[str] = None,
               **request: Any) -> int:
        """Submits a command (a list of words, or one text for sh) with the other fields of a
        request. Returns the job's id; for an array, the id of its first job. The job runs in this
        directory with this PATH and Python environment, unless `cwd` or `env` override them.
        `key` is an idempotency key: a repeated submit returns the existing job."""
        return int(self._submit(command, key, request)["id"])

    def submit_array(self, command: Union[str, Sequence[str]], array: str, *,
                     key: Optional[str] = None, **request: Any) -> List[int]:
        """Submits an array such as "0-9%2", like `submit`. Returns the ids of its jobs."""
        return [int(i) for i in self._submit(command, key, {**request, "array": array})["ids"]]

    def plan(self, command: Union[str, Sequence[str]], **request: Any) -> Answer:
        """Predicts the outcome of a request without submitting it."""
        return self._json("POST", "/v1/plan", self._request(command, request))

    def status(self, job: Id) -> Answer:
        """Returns one job, with its request and leases."""
        return self._json("GET", self._path(job))

    def queue(self, state: str = "active", **where: Any) -> List[Answer]:
        """Returns jobs in a state; `active`, `ended` and `all` are also accepted. The keywords
        `user`, `tenant` and `array` filter the jobs."""
        jobs: List[Answer] = []
        while True:
            query = urllib.parse.urlencode(
                {**where, "state": state, "limit": 1000, "offset": len(jobs)})
            page = self._json("GET", f"/v1/jobs?{query}")
            jobs += page["jobs"]
            if not page["jobs"] or len(jobs) >= page["total"]:
                return jobs

    def why(self, job: Id) -> Answer:
        """Explains why a job waits and when it will start; for a running or finished job, how its
        time was spent."""
        return self._json("GET", self._path(job, "why"))

    def eta(self, job: Id) -> Optional[Answer]:
        """Returns the predicted range of the start time, or None if the job does not wait."""
        return self.why(job).get("eta")

    def cancel(self, job: Id) -> Answer:
        """Cancels a job, or a whole array: "12_*"."""
        return self._json("POST", self._path(job, "cancel"))

    def hold(self, job: Id) -> Answer:
        """Stops a job or keeps it from starting until it is released."""
        return self._json("POST", self._path(job, "hold"))

    def release(self, job: Id) -> Answer:
        """Releases a held job."""
        return self._json("POST", self._path(job, "release"))

    def events(self, job: Id) -> List[Answer]:
        """Returns the events of a job, oldest first."""
        return list(self._json("GET", self._path(job, "events"))["events"])

    def wait(self, job: Id, timeout: Optional[float] = None) -> Answer:
        """Waits until the job has finished, and returns it. Its `state` and `why` describe the
        outcome. Continues if the manager is restarted. Raises TimeoutError after `timeout`
        seconds."""
        until = float("inf") if timeout is None else time.monotonic() + timeout
        after = ""
        while True:
            now = self._status_again(job, until)
            if now["state"] in OVER:
                return now
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"job {now['id']} is still {now['state']} after {timeout:g} s")
            try:
                path = self._path(now["id"], "events") + "?follow=1"
                for event in self._stream(path, after, min(left, _STREAM_WAIT)):
                    after = event.id or after
                    if event.kind == "end" or time.monotonic() > until:
                        break
            except MusterError as error:
                if error.status not in (0, 503):
                    raise
            time.sleep(0.05)

    # ---- output

    def logs(self, job: Id, *, lease: Optional[int] = None, node: int = 0) -> str:
        """Returns the output of a lease so far (default: the latest lease)."""
        parts: List[bytes] = []
        size = 0
        while True:
            query = {"offset": str(size), "limit": str(_PAGE), "node": str(node)}
            if lease is not None:
                query["lease"] = str(lease)
            target = f"{self._path(job, 'log')}?{urllib.parse.urlencode(query)}"
            body, headers = self._ask("GET", target)
            parts.append(body)
            size += len(body)
            if not body or size >= int(headers.get("Muster-Log-Size", "0")):
                return b"".join(parts).decode("utf-8", "replace")

    def follow(self, job: Id, *, lease: Optional[int] = None, node: int = 0) -> Iterator[str]:
        """Yields the output of a job, piece by piece, until the job has finished. With `lease`,
        yields the output of that lease until it ends."""
        done = 0
        while True:
            now = self._status_again(job)
            used = int(now.get("leases_used", 0))
            if lease is not None:
                yield from self._follow_lease(now, lease, node)
                return
            if used > done:
                done = done + 1 if done else used  # Start with the latest lease, then each next.
                with contextlib.suppress(_NeverPrinted):
                    yield from self._follow_lease(now, done, node)
            elif now["state"] in OVER:
                return
            else:
                time.sleep(0.2)

    def _follow_lease(self, job: Answer, lease: int, node: int) -> Iterator[str]:
        offset = 0
        while True:
            query = urllib.parse.urlencode(
                {"follow": 1, "lease": lease, "node": node, "offset": offset})
            try:
                path = f"{self._path(job['id'], 'log')}?{query}"
                for event in self._stream(path, "", _STREAM_WAIT):
                    if event.kind == "end":
                        return
                    text = self._text(event.data)
                    yield text
                    # The manager's offset is exact even if the output is not valid UTF-8.
                    offset = int(event.id) if event.id else offset + len(text.encode())
            except MusterError as error:
                if error.status not in (0, 404, 503):
                    raise
                # 404: the lease has printed nothing yet, or it never started.
                now = self._status_again(job["id"])
                if error.status == 404 and int(now.get("leases_used", 0)) > lease:
                    raise _NeverPrinted(str(error), error.status) from error
                if error.status == 404 and now["state"] in OVER:
                    raise
                time.sleep(0.1)

    def _text(self, data: str) -> str:
        try:
            return str(json.loads(data))
        except ValueError:
            raise MusterError(f"event from {self.where} is not JSON: '{data:.60}'", 200) from None

    # ---- requests

    @staticmethod
    def _path(job: Id, verb: str = "") -> str:
        path = "/v1/jobs/" + urllib.parse.quote(str(job), safe="")
        return f"{path}/{verb}" if verb else path

    @staticmethod
    def _request(command: Union[str, Sequence[str]], fields: Mapping[str, Any]) -> Answer:
        usual = {name: os.environ[name] for name in _USUAL if os.environ.get(name)}
        words = command if isinstance(command, str) else [str(word) for word in command]
        env = {name: str(value) for name, value in (fields.get("env") or {}).items()}
        return {"cwd": os.getcwd(), **fields, "command": words, "env": {**usual, **env}}

    def _submit(self, command: Union[str, Sequence[str]], key: Optional[str],
                fields: Mapping[str, Any]) -> Answer:
        request = self._request(command, fields)
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        try:
            return self._json("POST", "/v1/jobs", request, headers)
        except MusterError as error:
            if error.status != 0:
                raise
        time.sleep(0.5)  # The answer may have been lost. The key makes a retry safe.
        return self._json("POST", "/v1/jobs", request, headers)

    def _status_again(self, job: Id, until: float = float("inf")) -> Answer:
        """Like status(), but waits for a manager that is being restarted."""
        until = min(until, time.monotonic() + _PATIENCE)
        while True:
            try:
                return self.status(job)
            except MusterError as error:
                if error.status not in (0, 503) or time.monotonic() > until:
                    raise
            time.sleep(0.2)

    def _json(self, method: str, target: str, body: Optional[Answer] = None,
              headers: Optional[Mapping[str, str]] = None) -> Answer:
        text = self._ask(method, target, body, headers)[0]
        with contextlib.suppress(ValueError):
            answer = json.loads(text)
            if isinstance(answer, dict):
                return answer
        raise MusterError(f"the answer from {self.where} is not a JSON object; check that this is "
                          "the address of a manager", 200)

    def _ask(self, method: str, target: str, body: Optional[Answer] = None,
             headers: Optional[Mapping[str, str]] = None
             ) -> Tuple[bytes, http.client.HTTPMessage]:
        """Returns body and headers of the answer. Raises MusterError if the request failed."""
        connection = self.where.connection(self.timeout)
        try:
            response = self._send(connection, method, target, body, headers or {})
            return response.read(), response.headers
        except (OSError, http.client.HTTPException) as error:
            raise self._nobody(error) from error
        finally:
            connection.close()

    def _send(self, connection: http.client.HTTPConnection, method: str, target: str,
              body: Optional[Answer], headers: Mapping[str, str]) -> http.client.HTTPResponse:
        text = None if body is None else json.dumps(body, default=os.fspath).encode()
        kind = {} if text is None else {"Content-Type": "application/json"}
        connection.request(method, target, text, {**kind, **self.where.headers(), **headers})
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            raise _refusal(response.status, response.read())
        return response

    def _stream(self, target: str, after: str, wait: float) -> Iterator[_Event]:
        """Yields events until the stream ends. Raises MusterError if the connection fails."""
        connection = self.where.connection(wait)
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
        try:
            response = self._send(connection, "GET", target, None, headers)
            kind, data, number = "message", "", ""
            for raw in response:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                name, _, value = line.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if name == "event":
                    kind = value
                elif name == "data":
                    data = value
                elif name == "id":
                    number = value
                elif not line and (data or kind != "message"):
                    yield _Event(kind, data, number)
                    kind, data = "message", ""
        except (OSError, http.client.HTTPException) as error:
            raise self._nobody(error) from error
        finally:
            connection.close()

    def _nobody(self, error: Exception) -> MusterError:
        if isinstance(error, (FileNotFoundError, ConnectionRefusedError)):
            return MusterError(f"no manager answers at {self.where}; start one with 'muster serve'")
        if isinstance(error, (TimeoutError, socket.timeout)):  # Two classes in Python 3.9.
            return MusterError(f"the manager at {self.where} does not answer in time")
        if isinstance(error, ssl.SSLError):
            return MusterError(f"TLS handshake with {self.where} failed: {error}; set MUSTER_CA to "
                               "a file of trusted certificates")
        return MusterError(f"no answer from the manager at {self.where}: "
                           f"{error or type(error).__name__}")


def _refusal(status: int, body: bytes) -> MusterError:
    try:
        return MusterError(str(json.loads(body)["error"]), status)
    except (ValueError, KeyError, TypeError):
        return MusterError(f"the manager answered with status {status} and no message", status)
