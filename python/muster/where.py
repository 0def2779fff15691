"""Finds the manager's address and the access token, by the same rules as the command line."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import stat
import urllib.parse
from typing import Dict, NamedTuple, Optional

_LONGEST_PATH = 107  # Maximum length of a Unix socket's path, in bytes.


class MusterError(Exception):
    """The manager refused a request (with its message) or could not be reached.

    `status` is the HTTP status, or 0 if there was no answer.
    """

    def __init__(self, words: str, status: int = 0) -> None:
        super().__init__(words)
        self.status = status


class Where(NamedTuple):
    """The manager's address: the path of a Unix socket, or host and port with a token."""

    socket: str = ""
    host: str = ""
    port: int = 0
    tls: bool = False
    token: str = ""

    def __str__(self) -> str:
        if self.socket:
            return self.socket
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def headers(self) -> Dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        """Returns a connection that is not connected yet."""
        if self.socket:
            return _UnixConnection(self.socket, timeout)
        if not self.tls:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout,
                                           context=_trusted())


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _trusted() -> ssl.SSLContext:
    own = os.environ.get("MUSTER_CA") or None
    try:
        context = ssl.create_default_context(cafile=own)
    except (OSError, ssl.SSLError) as error:
        raise MusterError(f"MUSTER_CA: no trusted certificates in '{own}': {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def manager_home() -> Optional[str]:
    """Returns $MUSTER_HOME, or $XDG_STATE_HOME/muster, or ~/.local/state/muster."""
    for name, rest in (("MUSTER_HOME", ""), ("XDG_STATE_HOME", "muster"),
                       ("HOME", ".local/state/muster")):
        if os.environ.get(name):
            return os.path.join(os.environ[name], rest) if rest else os.environ[name]
    return None


def find_manager(server: Optional[str] = None) -> Where:
    """Returns the address `server`, or MUSTER_SERVER, or the socket in the state directory."""
    said = server or os.environ.get("MUSTER_SERVER", "")
    source = "server" if server else "MUSTER_SERVER"
    if not said:
        home = manager_home()
        if home is None:
            raise MusterError("HOME is not set; use MUSTER_SERVER to specify the manager's address")
        return _socket_at(os.path.join(home, "muster.sock"))
    if said.startswith(("http://", "https://")):
        return _tcp_at(said, source)
    if said.startswith("unix:"):
        return _socket_at(said[len("unix:"):])
    if "/" in said and "://" not in said:
        return _socket_at(said)
    raise MusterError(f"{source}: must be a socket path or http(s)://HOST:PORT, not '{said}'")


def _socket_at(path: str) -> Where:
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise MusterError(f"socket path longer than {_LONGEST_PATH} bytes: '{path}'")
    return Where(socket=path)


def _tcp_at(said: str, source: str) -> Where:
    bad = MusterError(f"{source}: not http://HOST:PORT or https://HOST:PORT: '{said}'")
    try:
        parts = urllib.parse.urlsplit(said)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise bad from None
    if not host or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in said:
        raise bad
    tls = parts.scheme == "https"
    return Where(host=host, port=port or (443 if tls else 80), tls=tls, token=_token())


def _token() -> str:
    token = os.environ.get("MUSTER_TOKEN", "") or _kept_token()
    if any(not "!" <= c <= "~" for c in token):
        raise MusterError("the token contains an invalid character")
    return token


def _kept_token() -> str:
    home = manager_home()
    path = os.path.join(home or "", "token")
    if home is None or not os.path.exists(path):
        return ""  # If the manager requires a token, it reports the error.
    try:
        if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise MusterError(f"{path}: other users can read this token; run 'chmod 600' on it")
        with open(path, encoding="utf-8") as file:
            token = file.readline().strip()
    except OSError as error:
        raise MusterError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise MusterError(f"{path}: cannot be read: it is not text") from None
    if not token:
        raise MusterError(f"{path}: is empty")
    return token
