"""Checkpoints that are there whole or not at all, and that no stale copy of a job overwrites.

Beside PATH stands PATH.lease: which lease the checkpoint belongs to, and what is locked while that
is looked at and the new checkpoint takes its name. `resume` takes the checkpoint over; a copy of
an older lease that is still alive is refused from then on, also in the middle of saving.
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

_SAVING = ".saving"  # How the names of unfinished checkpoints end.
_claimed: Set[str] = set()  # Paths that this process has taken over.


class StaleLease(RuntimeError):
    """A newer lease has taken over the checkpoint: this copy of the job must not save it."""


def resume(path: Path, load: Callable[[IO[bytes]], T]) -> Optional[T]:
    """Takes the checkpoint over and reads it: what `load` makes of the open file, None if there is
    none yet. From here on no older lease of the job can save it."""
    claim(path)
    try:
        file = open(_real(path), "rb")
    except FileNotFoundError:
        return None
    with file:
        return load(file)


def claim(path: Path) -> None:
    """Takes the checkpoint over for this lease without reading it. Outside Muster: nothing."""
    mine = current_lease()
    if mine is None:
        return
    real = _real(path)
    _make_folder(real)
    with _locked(real) as file:
        _take(file, real, mine)


@contextlib.contextmanager
def checkpoint(path: Path) -> Iterator[IO[bytes]]:
    """A file to write the checkpoint to. It takes the name `path` when the block ends without an
    error and all of it is on disk; until then, and if it does not get there, what was there
    before stays. Then the manager is told that the work is safe.

    Raises StaleLease, and changes nothing, if a newer lease has taken the checkpoint over.
    """
    real = _real(path)
    _make_folder(real)
    mine = current_lease()
    with _owned(real, mine):
        if mine is not None:
            _sweep(real)
        name = f"{_beside(real)}.{secrets.token_hex(4)}{_SAVING}"
        saving = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        fcntl.flock(saving, fcntl.LOCK_EX)  # Somebody writes this one.
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
    """Links are followed, so that a checkpoint has one lock whatever it is called."""
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
    """Removes what killed copies left unfinished: files that nobody holds locked."""
    for name in glob.glob(f"{glob.escape(_beside(real))}.*{_SAVING}"):
        with contextlib.suppress(OSError):
            left = os.open(name, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name)
            finally:
                os.close(left)


# ---- whose it is

@contextlib.contextmanager
def _owned(real: str, mine: Optional[Lease]) -> Iterator[None]:
    """Nobody takes the checkpoint over meanwhile. Without a lease there is nothing to look at."""
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
                break  # Otherwise it was removed while we waited.
        except BaseException:
            os.close(file)
            raise
        os.close(file)
    try:
        yield file
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # Also for children that have it open.
        os.close(file)


def _owner(text: bytes) -> Optional[Lease]:
    try:
        said = json.loads(text.split(b"\n", 1)[0])
        return Lease(str(said["manager"]), int(said["job"]), int(said["epoch"]))
    except (ValueError, KeyError, TypeError):
        return None


def _newer(owner: Optional[Lease], mine: Lease, claimed: bool) -> bool:
    """Whether it belongs to somebody who came after us. Of other jobs, whoever came last."""
    if owner is None or owner == mine:
        return False
    if owner[:2] == mine[:2]:
        return owner.epoch > mine.epoch
    return claimed


def _take(file: int, real: str, mine: Lease) -> None:
    """With the lock held: it is ours, or StaleLease."""
    owner = _owner(os.pread(file, 4096, 0))
    if owner is not None and _newer(owner, mine, real in _claimed):
        raise StaleLease(_words(real, owner, mine))
    if owner != mine:
        text = json.dumps({"manager": mine.manager, "job": mine.job, "epoch": mine.epoch}) + "\n"
        os.pwrite(file, text.encode(), 0)  # The first line counts: cut off or not, it is whole.
        os.ftruncate(file, len(text))
        os.fsync(file)
        _sync_folder(real)
    _claimed.add(real)


def _words(real: str, owner: Lease, mine: Lease) -> str:
    if owner[:2] == mine[:2]:
        return (f"{real} belongs to lease {owner.epoch} of job {owner.job} now, so this copy, "
                f"lease {mine.epoch}, may not save it; end it")
    return (f"{real} belongs to job {owner.job} now, so job {mine.job} may not save it; give each "
            "job a checkpoint of its own")


def _taken_from_us() -> bool:
    """Whether somebody has taken over what was ours; not locked, since a moment's delay is fine."""
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
