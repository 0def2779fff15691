"""Checkpoints that are written atomically and that no stale copy of a job can overwrite.

The file PATH.lease next to a checkpoint contains the lease that owns it. It is locked while the
owner is checked and while a new checkpoint replaces the old one. `resume` makes the current lease
the owner. From then on, a copy of the job with an older lease cannot save, even if it has already
started to save.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import secrets
from typing import IO, Callable, Iterator, Optional, Set, TypeVar, Union

from .lease import Lease, also_ends_when, current_lease
from .progress import report

T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]

_SAVING = ".saving"  # Suffix of unfinished checkpoints.
_claimed: Set[str] = set()  # Paths of checkpoints that this process has claimed.


class StaleLease(RuntimeError):
    """A newer lease owns the checkpoint: this copy of the job must not save it."""


def resume(path: Path, load: Callable[[IO[bytes]], T]) -> Optional[T]:
    """Claims the checkpoint and reads it. Returns the result of `load` on the open file, or None if
    there is no checkpoint yet. From then on, no older lease of the job can save it."""
    claim(path)
    try:
        file = open(_real(path), "rb")
    except FileNotFoundError:
        return None
    with file:
        return load(file)


def claim(path: Path) -> None:
    """Claims the checkpoint for this lease without reading it. Outside Muster, it does nothing."""
    mine = current_lease()
    if mine is None:
        return
    real = _real(path)
    _make_folder(real)
    with _locked(real) as file:
        _take(file, real, mine)


@contextlib.contextmanager
def checkpoint(path: Path) -> Iterator[IO[bytes]]:
    """Yields a file to write the checkpoint to. When the block ends without an error, the file is
    synced to disk and atomically replaces `path`. Otherwise the old checkpoint stays. After
    success, the checkpoint is reported to the manager.

    Raises StaleLease, and changes nothing, if a newer lease has claimed the checkpoint.
    """
    real = _real(path)
    _make_folder(real)
    mine = current_lease()
    with _owned(real, mine):
        if mine is not None:
            _sweep(real)
        name = f"{_beside(real)}.{secrets.token_hex(4)}{_SAVING}"
        saving = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        fcntl.flock(saving, fcntl.LOCK_EX)  # Keeps _sweep() from removing the file.
    try:
        try:
            with open(saving, "wb", closefd=False) as file:
                yield file
            os.fsync(saving)
            with _owned(real, mine):
                os.replace(name, real)
                _sync_folder(real)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise
    finally:
        os.close(saving)
    report(saved=True)


# ---- names

def _real(path: Path) -> str:
    """Resolves links, so that a checkpoint has one lock for all its names."""
    return os.path.realpath(os.fspath(path))


def _beside(real: str) -> str:
    return os.path.join(os.path.dirname(real), "." + os.path.basename(real))


def _make_folder(real: str) -> None:
    os.makedirs(os.path.dirname(real), exist_ok=True)


def _sync_folder(real: str) -> None:
    folder = os.open(os.path.dirname(real), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sweep(real: str) -> None:
    """Removes unfinished files of killed copies: files that no process has locked."""
    for name in glob.glob(f"{glob.escape(_beside(real))}.*{_SAVING}"):
        with contextlib.suppress(OSError):
            left = os.open(name, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name)
            finally:
                os.close(left)


# ---- ownership

@contextlib.contextmanager
def _owned(real: str, mine: Optional[Lease]) -> Iterator[None]:
    """Checks that this lease owns the checkpoint, and keeps others from claiming it meanwhile. Does
    nothing without a lease."""
    if mine is None:
        yield
        return
    with _locked(real) as file:
        _take(file, real, mine)
        yield


@contextlib.contextmanager
def _locked(real: str) -> Iterator[int]:
    path = real + ".lease"
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.exists(path) and os.path.samestat(os.fstat(file), os.stat(path)):
                break  # Otherwise the file was removed while we waited for the lock.
        except BaseException:
            os.close(file)
            raise
        os.close(file)
    try:
        yield file
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # Children may have the descriptor open: unlock it.
        os.close(file)


def _owner(text: bytes) -> Optional[Lease]:
    try:
        said = json.loads(text.split(b"\n", 1)[0])
        return Lease(str(said["manager"]), int(said["job"]), int(said["epoch"]))
    except (ValueError, KeyError, TypeError):
        return None


def _newer(owner: Optional[Lease], mine: Lease, claimed: bool) -> bool:
    """Returns whether the owner is newer than this lease. Between different jobs, the last one to
    claim the checkpoint is the newest."""
    if owner is None or owner == mine:
        return False
    if owner[:2] == mine[:2]:
        return owner.epoch > mine.epoch
    return claimed


def _take(file: int, real: str, mine: Lease) -> None:
    """Claims the checkpoint, or raises StaleLease. REQUIRES: the lock is held."""
    owner = _owner(os.pread(file, 4096, 0))
    if owner is not None and _newer(owner, mine, real in _claimed):
        raise StaleLease(_words(real, owner, mine))
    if owner != mine:
        text = json.dumps({"manager": mine.manager, "job": mine.job, "epoch": mine.epoch}) + "\n"
        os.pwrite(file, text.encode(), 0)  # Only the first line counts, even before ftruncate().
        os.ftruncate(file, len(text))
        os.fsync(file)
        _sync_folder(real)
    _claimed.add(real)


def _words(real: str, owner: Lease, mine: Lease) -> str:
    if owner[:2] == mine[:2]:
        return (f"{real} now belongs to lease {owner.epoch} of job {owner.job}, so this copy, "
                f"lease {mine.epoch}, cannot save it; end this copy")
    return (f"{real} now belongs to job {owner.job}, so job {mine.job} cannot save it; use a "
            "separate checkpoint for each job")


def _taken_from_us() -> bool:
    """Returns whether another lease has claimed one of our checkpoints. Reads without a lock,
    because a short delay is acceptable."""
    mine = current_lease()
    if mine is None:
        return False
    for real in _claimed:
        with contextlib.suppress(OSError):
            with open(real + ".lease", "rb") as file:
                if _newer(_owner(file.read(4096)), mine, True):
                    return True
    return False


also_ends_when(_taken_from_us)
