"""Where the manager listens, and with which token to come; found as the command line finds it."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import stat
import urllib.parse
from typing import Dict, NamedTuple, Optional

_LONGEST_PATH = 107  # Bytes of a Unix socket's path.


class MusterError(Exception):
    """What the manager refused, in its own words, or why it could not be asked.

    `status` is the HTTP status, 0 if there was no answer at all.
    """

    def __init__(self, words: str, status: int = 0) -> None:
        super().__init__(words)
        self.status = status


class Where(NamedTuple):
    """A Unix socket's path, or a host and port with a token."""

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
        """Not yet connected."""
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
        raise MusterError(f"MUSTER_CA: no certificates to trust in '{own}': {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def manager_home() -> Optional[str]:
    """$MUSTER_HOME, else $XDG_STATE_HOME/muster, else ~/.local/state/muster."""
    for name, rest in (("MUSTER_HOME", ""), ("XDG_STATE_HOME", "muster"),
                       ("HOME", ".local/state/muster")):
        if os.environ.get(name):
            return os.path.join(os.environ[name], rest) if rest else os.environ[name]
    return None


def find_manager(server: Optional[str] = None) -> Where:
    """`server`, else MUSTER_SERVER, else the socket in the manager's directory."""
    said = server or os.environ.get("MUSTER_SERVER", "")
    source = "server" if server else "MUSTER_SERVER"
    if not said:
        home = manager_home()
        if home is None:
            raise MusterError("no HOME in the environment: say where the manager is with "
                              "MUSTER_SERVER")
        return _socket_at(os.path.join(home, "muster.sock"))
    if said.startswith(("http://", "https://")):
        return _tcp_at(said, source)
    if said.startswith("unix:"):
        return _socket_at(said[len("unix:"):])
    if "/" in said and "://" not in said:
        return _socket_at(said)
    raise MusterError(f"{source}: neither the path of a socket nor http(s)://HOST:PORT: '{said}'")


def _socket_at(path: str) -> Where:
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise MusterError(f"the path of a socket has at most {_LONGEST_PATH} bytes: '{path}'")
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
        raise MusterError("the token has a character that no token has")
    return token


def _kept_token() -> str:
    home = manager_home()
    path = os.path.join(home or "", "token")
    if home is None or not os.path.exists(path):
        return ""  # The manager will say it wants one.
    try:
        if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise MusterError(f"{path}: others can read this token; close it with 'chmod 600'")
        with open(path, encoding="utf-8") as file:
            token = file.readline().strip()
    except OSError as error:
        raise MusterError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise MusterError(f"{path}: cannot be read: it is no text") from None
    if not token:
        raise MusterError(f"{path}: is empty")
    return token
