"""Calls of other users over a Unix socket, where the kernel identifies the caller. Only for root."""

import http.client
import os
import socket

from live_daemon import PATIENCE


def connect_as(uid, path):
    """Returns a socket that the process of another user has connected to `path`."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            with socket.socket(socket.AF_UNIX) as made:
                made.connect(str(path))
                socket.send_fds(theirs, [b"x"], [made.fileno()])
            status = 0
        except OSError as error:
            theirs.send(str(error.errno).encode())
        finally:
            os._exit(status)
    with ours, theirs:
        os.waitpid(child, 0)
        text, sockets, _, _ = socket.recv_fds(ours, 10, 1)
    if not sockets:
        raise OSError(int(text), os.strerror(int(text)))
    return socket.socket(fileno=sockets[0])


class OtherUser(http.client.HTTPConnection):
    """A connection of another user, identified by the kernel. Only for root."""

    def __init__(self, uid, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.uid, self.path = uid, path

    def connect(self):
        self.sock = connect_as(self.uid, self.path)
        self.sock.settimeout(self.timeout)
