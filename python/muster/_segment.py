"""Memory that several processes share, and locks in it that the kernel gives back.

A segment is a file of memory: without a name (a memfd, which the kernel frees with the last process
that has it open, however that one ends), or with a name in /dev/shm, for processes that have
nothing in common but the name. Locks are "open file description" locks on single bytes of it: they
end with the process that holds them, a `kill -9` included, and need no process ids.
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

# Which byte is locked for what; all but ALIVE are exclusive.
ALIVE = 0        # Shared by all who use the segment: whoever gets it exclusively is the last one.
WRITE = 1        # Whoever changes more than his own counters.
SLOTS = 1 << 20  # + number: whose counters these are.
CLAIMS = 1 << 40  # + key: who is loading that item.


def try_lock(fd: int, byte: int, kind: int, wait: bool) -> bool:
    """Locks one byte, or with F_UNLCK lets go of it; False if another has it and we do not wait."""
    command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
    try:
        fcntl.fcntl(fd, command, struct.pack("hhqqi0q", kind, os.SEEK_SET, byte, 1, 0))
    except OSError as error:
        if not wait and error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


class Segment:
    """An open segment. Whoever makes one knows nothing of what is in it yet: see `attach`."""

    def __init__(self, fd: int, path: Optional[str] = None):
        self.fd = fd
        self.path = path  # Of a named one.
        self.map: Optional[mmap.mmap] = None

    @staticmethod
    def unnamed() -> "Segment":
        segment = Segment(os.memfd_create("muster-cache", os.MFD_CLOEXEC))
        segment.lock(ALIVE, fcntl.F_RDLCK)
        return segment

    @staticmethod
    def named(name: str) -> "Segment":
        """The segment of that name in this lease (without one: of this user), new or not."""
        path = _path_of(name)
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            segment = Segment(fd, path)
            if os.fstat(fd).st_uid != os.geteuid():
                os.close(fd)
                raise PermissionError(f"{path} is another user's: give the cache another name")
            segment.lock(ALIVE, fcntl.F_RDLCK)
            if _is_at(fd, path):
                # When multiprocessing has ended the workers, which may come after we let go.
                util.Finalize(None, _remove_if_unused_at, (path,), exitpriority=-100)
                return segment
            os.close(fd)  # Its last user removed it while we came.

    @staticmethod
    def of_process(pid: int, fd: int, identity: Tuple[int, int],
                   path: Optional[str]) -> "Segment":
        """What another process has open, which must still be there."""
        try:
            segment = Segment(os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC), path)
        except OSError:
            segment = None
        if segment is None or segment.identity() != identity:
            raise RuntimeError(f"the cache of process {pid} is gone: that process has ended")
        segment.lock(ALIVE, fcntl.F_RDLCK)
        return segment

    def identity(self) -> Tuple[int, int]:
        facts = os.fstat(self.fd)
        return facts.st_dev, facts.st_ino

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def allocated(self) -> int:
        """Bytes of memory it really takes."""
        return os.fstat(self.fd).st_blocks * 512

    def attach(self) -> mmap.mmap:
        # A mapping keeps a copy of its descriptor, in forked children too, and with it the locks
        # of the process it came from. So it gets one that is never locked.
        plain = os.open(f"/proc/self/fd/{self.fd}", os.O_RDWR | os.O_CLOEXEC)
        try:
            self.map = mmap.mmap(plain, self.size())
        finally:
            os.close(plain)
        return self.map

    def after_fork(self) -> None:
        """In the child: locks of its own, and none that would outlive the parent."""
        parents, self.fd = self.fd, -1  # Rather none than that one, if the next line fails.
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
        """By system call: where memory is short it fails, where a mapping would end the process."""
        view = memoryview(data)
        while view:
            done = os.pwrite(self.fd, view, at)
            view, at = view[done:], at + done

    def close(self) -> None:
        """Lets go of it; the last one out removes the name."""
        if self.map is not None:
            self.map.close()
        if self.path is not None:
            # First let go, then try: of two that leave at once, one at least succeeds.
            self.lock(ALIVE, fcntl.F_UNLCK)
            _remove_if_unused(self.fd, self.path)
        os.close(self.fd)


def sweep() -> None:
    """Removes this user's named segments that nobody has open: those of jobs that were killed."""
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
        raise ValueError(f"name: '{name}' is not 1 to 100 of A-Z, a-z, 0-9, '.', '_' and '-'")
    if not os.access(DIRECTORY, os.W_OK):
        raise OSError(f"a cache with a name needs {DIRECTORY}, which this process cannot write to")
    lease = os.environ.get("MUSTER_LEASE") or os.environ.get("MUSTER_JOB") or "user"
    lease = re.sub(r"[^A-Za-z0-9._-]", "_", lease)[:100]
    return os.path.join(DIRECTORY, f"muster-cache-{os.geteuid()}-{lease}-{name}")
