"""A real muster-grant with its own rules, socket and key, for tests and benchmarks. Needs root: the
service changes to a user without an account, and questions come from several such users."""

import contextlib
import hashlib
import hmac
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time

MANAGER, GRANT, ANN, BOB = 60001, 60002, 61001, 61002  # User and group ids.
INSTANCE = bytes(range(16))
DIGEST = hashlib.sha256(b"num_gpu: 1").digest()
PATIENCE = 60
GRANT_BYTES, REFUSAL_BYTES = 192, 96


def question(seconds=0, instance=INSTANCE, digest=DIGEST, version=1, reserved=0):
    return struct.pack("<II16s32sQ", version, seconds, instance, digest, reserved)


@contextlib.contextmanager
def identity(uid, gid=None, groups=()):
    """Changes the effective ids, which the kernel passes on as the credentials of a connection."""
    os.setgroups(groups)
    os.setegid(uid if gid is None else gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups([])


class Grant:
    """The members of a grant, in the order of src/exec/launch/grant.h."""

    def __init__(self, data):
        (self.version, self.uid, self.gid, self.reserved, self.issued, self.until, self.nonce,
         self.instance, self.digest, self.more, self.mac) = struct.unpack(
             "<IIIIqq16s16s32s64s32s", data)
        self.signed = data[:160]

    def is_signed_with(self, key):
        return hmac.compare_digest(self.mac, hmac.digest(key, self.signed, "sha256"))


class GrantService:
    def __init__(self, program, rules=""):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="muster-grant-"))
        self.base.chmod(0o755)  # For all users.
        self.program = shutil.copy(program, self.base)
        self.socket, self.conf, self.state = [
            self.base / name for name in ("grant.sock", "launch.conf", "state")]
        self.conf.touch(0o600)
        self.conf.write_text(f"manager_uid = {MANAGER}\ngrant_uid = {GRANT}\n{rules}")
        self.state.mkdir(0o700)
        os.chown(self.state, GRANT, GRANT)
        self.process = None

    def command(self):
        return [self.program, "--listen", self.socket, "--conf", self.conf, "--state", self.state]

    def spawn(self, prefix=()):
        self.process = subprocess.Popen([*prefix, *self.command()], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return self.process

    def start(self):
        """Returns when the service accepts connections."""
        self.spawn()
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < until:
            if self.key() is not None:
                with contextlib.suppress(OSError):
                    self.connect(MANAGER).close()
                    return self
            time.sleep(0.002)
        raise AssertionError(f"muster-grant did not start: {self.process.stderr.read()}")

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def remove(self):
        self.kill()
        shutil.rmtree(self.base)

    def key(self):
        """Returns the key, or None if there is none."""
        try:
            return (self.state / "key").read_bytes()
        except FileNotFoundError:
            return None

    def connect(self, uid, gid=None, groups=()):
        end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        end.settimeout(PATIENCE)
        try:
            with identity(uid, gid, groups):
                end.connect(str(self.socket))
        except OSError:
            end.close()
            raise
        return end

    def ask(self, uid, data=None, gid=None, groups=()):
        """Returns the answer to one question over a new connection; b'' if it was closed."""
        with self.connect(uid, gid, groups) as end:
            return exchange(end, question() if data is None else data)

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return file.read().split()

    def wait_idle(self):
        """Returns when no connection is open."""
        until = time.monotonic() + PATIENCE
        while self.children():
            assert time.monotonic() < until, "a connection stays open"
            time.sleep(0.002)


def exchange(end, data):
    try:
        end.send(data)
        return end.recv(4096)
    except (BrokenPipeError, ConnectionResetError):
        return b""


def reason(answer):
    """Returns the text of a refusal."""
    version, _code, text = struct.unpack("<IB91s", answer)
    assert version == 1
    return text.rstrip(b"\0").decode("ascii")
