"""Memory that several processes share, with locks that the kernel releases when a process ends.

A segment is a file in memory. An unnamed segment is a memfd, which the kernel frees when the last
process that has it open ends. A named segment is a file in /dev/shm, for unrelated processes that
know the name. Locks are "open file description" locks on single bytes of the file. The kernel
releases them when the process that holds them ends, even by `kill -9`. They need no process ids.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import re
import struct
from multiprocessing import util
from typing import Iterator, Optional, Tuple

DIRECTORY = "/dev/shm"

# Bytes to lock. All locks except ALIVE are exclusive.
ALIVE = 0        # Held shared by all users of the segment. An exclusive lock proves: no other user.
WRITE = 1        # Held while changing anything except the process's own counters.
SLOTS = 1 << 20  # + number: held by the process that owns these counters.
CLAIMS = 1 << 40  # + key: held by the process that is loading that item.


def try_lock(fd: int, byte: int, kind: int, wait: bool) -> bool:
    """Locks one byte, or unlocks it (F_UNLCK). Returns False if another process holds the lock and
    `wait` is false."""
    command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
    try:
        fcntl.fcntl(fd, command, struct.pack("hhqqi0q", kind, os.SEEK_SET, byte, 1, 0))
    except OSError as error:
        if not wait and error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


class Segment:
    """An open segment. `attach` maps its contents."""

    def __init__(self, fd: int, path: Optional[str] = None):
        self.fd = fd
        self.path = path  # None: unnamed.
        self.map: Optional[mmap.mmap] = None

    @staticmethod
    def unnamed() -> "Segment":
        segment = Segment(os.memfd_create("muster-cache", os.MFD_CLOEXEC))
        segment.lock(ALIVE, fcntl.F_RDLCK)
        return segment

    @staticmethod
    def named(name: str) -> "Segment":
        """Opens or creates the segment of that name for this lease; outside a lease, for this
        user."""
        path = _path_of(name)
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            segment = Segment(fd, path)
            if os.fstat(fd).st_uid != os.geteuid():
                os.close(fd)
                raise PermissionError(f"{path} belongs to another user; use another cache name")
            segment.lock(ALIVE, fcntl.F_RDLCK)
            if _is_at(fd, path):
                # Runs after multiprocessing has ended the workers, which may be after our close().
                util.Finalize(None, _remove_if_unused_at, (path,), exitpriority=-100)
                return segment
            os.close(fd)  # Its last user removed it after we opened it: try again.

    @staticmethod
    def of_process(pid: int, fd: int, identity: Tuple[int, int],
                   path: Optional[str]) -> "Segment":
        """Opens the segment that another process has open. Raises RuntimeError if that process has
        ended."""
        try:
            segment = Segment(os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC), path)
        except OSError:
            segment = None
        if segment is None or segment.identity() != identity:
            raise RuntimeError(f"the cache of process {pid} is gone, because the process has ended")
        segment.lock(ALIVE, fcntl.F_RDLCK)
        return segment

    def identity(self) -> Tuple[int, int]:
        facts = os.fstat(self.fd)
        return facts.st_dev, facts.st_ino

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def allocated(self) -> int:
        """Returns the number of bytes of memory in use."""
        return os.fstat(self.fd).st_blocks * 512

    def attach(self) -> mmap.mmap:
        # A mapping keeps a copy of its descriptor, also in forked children, and the copy keeps the
        # descriptor's locks. So the mapping gets a separate descriptor, which is never locked.
        plain = os.open(f"/proc/self/fd/{self.fd}", os.O_RDWR | os.O_CLOEXEC)
        try:
            self.map = mmap.mmap(plain, self.size())
        finally:
            os.close(plain)
        return self.map

    def after_fork(self) -> None:
        """Opens a separate descriptor in the child, so the child does not keep the parent's locks
        and has its own."""
        parents, self.fd = self.fd, -1  # Do not use the parent's if the next line fails.
        self.fd = os.open(f"/proc/self/fd/{parents}", os.O_RDWR | os.O_CLOEXEC)
        os.close(parents)
        self.lock(ALIVE, fcntl.F_RDLCK)

    def lock(self, byte: int, kind: int = fcntl.F_WRLCK, wait: bool = True) -> bool:
        return try_lock(self.fd, byte, kind, wait)

    @contextlib.contextmanager
    def locked(self, byte: int) -> Iterator[None]:
        self.lock(byte)
        try:
            yield
        finally:
            self.lock(byte, fcntl.F_UNLCK)

    def write(self, data: bytes, at: int) -> None:
        """Writes by system call. If memory is short, this raises OSError; a write to the mapping
        would kill the process."""
        view = memoryview(data)
        while view:
            done = os.pwrite(self.fd, view, at)
            view, at = view[done:], at + done

    def close(self) -> None:
        """Closes the segment. The last user removes the name."""
        if self.map is not None:
            self.map.close()
        if self.path is not None:
            # Unlock first: if two users close at the same time, at least one of them succeeds.
            self.lock(ALIVE, fcntl.F_UNLCK)
            _remove_if_unused(self.fd, self.path)
        os.close(self.fd)


def sweep() -> None:
    """Removes this user's named segments that no process has open, left by killed jobs."""
    prefix = f"muster-cache-{os.geteuid()}-"
    with contextlib.suppress(OSError):
        for name in os.listdir(DIRECTORY):
            if name.startswith(prefix):
                _remove_if_unused_at(os.path.join(DIRECTORY, name))


def _remove_if_unused_at(path: str) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            _remove_if_unused(fd, path)
        finally:
            os.close(fd)


def _remove_if_unused(fd: int, path: str) -> None:
    if try_lock(fd, ALIVE, fcntl.F_WRLCK, wait=False) and _is_at(fd, path):
        os.unlink(path)


def _is_at(fd: int, path: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    return False


def _path_of(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name):
        raise ValueError(f"name: must be 1 to 100 characters of A-Z, a-z, 0-9, '.', '_' and '-': "
                         f"'{name}'")
    if not os.access(DIRECTORY, os.W_OK):
        raise OSError(f"a named cache needs {DIRECTORY}, but this process cannot write to it")
    lease = os.environ.get("MUSTER_LEASE") or os.environ.get("MUSTER_JOB") or "user"
    lease = re.sub(r"[^A-Za-z0-9._-]", "_", lease)[:100]
    return os.path.join(DIRECTORY, f"muster-cache-{os.geteuid()}-{lease}-{name}")
