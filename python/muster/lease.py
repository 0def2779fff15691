"""The lease this process runs under, which rank it is, and whether it is to stop."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from types import FrameType
from typing import Any, Callable, List, NamedTuple, Optional

_LOOK_EVERY = 1.0  # Seconds between looks at what costs a system call or more.


class Lease(NamedTuple):
    """One start of a job. Of two leases of one job, that with the higher epoch is the newer."""

    manager: str  # Which manager's: the ids of two managers have nothing to do with each other.
    job: int
    epoch: int


def _number(name: str, fallback: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return fallback
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is '{text}' in the environment; it must be a whole number, "
                         f"such as {fallback}") from None


def current_lease() -> Optional[Lease]:
    """The lease of this process; None if it was not started by Muster."""
    job, epoch = _number("MUSTER_JOB", 0), _number("MUSTER_EPOCH", 0)
    if job <= 0 or epoch <= 0:
        return None
    return Lease(os.environ.get("MUSTER_MANAGER") or _by_home(), job, epoch)


def _by_home() -> str:
    """Of a manager that does not say who it is: its directory stands for it. The progress file is
    HOME/leases/jJOB.eEPOCH/progress.jsonl."""
    home = os.path.dirname(os.path.dirname(os.environ.get("MUSTER_PROGRESS", "")))
    return hashlib.sha256(os.fsencode(home)).hexdigest()[:16]


def rank() -> int:
    """Which of the job's processes this is, from 0 (RANK)."""
    return _number("RANK", 0)


def world_size() -> int:
    """How many processes the job has (WORLD_SIZE)."""
    return _number("WORLD_SIZE", 1)


def local_rank() -> int:
    """Which of the job's processes on this server this is, from 0 (LOCAL_RANK)."""
    return _number("LOCAL_RANK", 0)


# ---- when to stop

_asked = False  # Somebody asked this process to stop.
_watching = False
_previous: Any = signal.SIG_DFL
_ends: List[Callable[[], bool]] = []  # Other ways to learn that the lease is over.
_looked = 0.0


def _on_sigterm(number: int, frame: Optional[FrameType]) -> None:
    global _asked
    _asked = True
    if callable(_previous):
        _previous(number, frame)


def watch() -> bool:
    """From now on SIGTERM asks to stop instead of ending the process; a handler that was there is
    called as well. `Loader` does this. Only the main thread can: elsewhere it returns False."""
    global _watching, _previous
    if _watching:
        return True
    if threading.current_thread() is not threading.main_thread():
        return False
    _previous = signal.signal(signal.SIGTERM, _on_sigterm)
    _watching = True
    return True


# A forked helper is ended by SIGTERM as ever, or whoever terminates it would wait for ever. While
# it is made, SIGTERM waits: our handler in the child would note it, and forget it with the rest.
_forking = threading.local()


def _before_fork() -> None:
    if _watching:
        _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])


def _after_fork_in_parent() -> None:
    if getattr(_forking, "mask", None) is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)
        _forking.mask = None


def _after_fork_in_child() -> None:
    global _asked, _watching
    if _watching:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if _previous is None else _previous)
    _asked = _watching = False
    _after_fork_in_parent()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent,
                    after_in_child=_after_fork_in_child)


def request_stop() -> None:
    """As if SIGTERM had come, for reasons of the script's own."""
    global _asked
    _asked = True


def should_stop() -> bool:
    """Whether to save and end: SIGTERM came, or a newer lease has taken over the checkpoint."""
    global _asked, _looked
    now = time.monotonic()
    if not _asked and now - _looked >= _LOOK_EVERY:
        _looked = now
        _asked = any(over() for over in _ends)
    return _asked


def also_ends_when(over: Callable[[], bool]) -> None:
    """`over` is asked about once a second whether the lease has ended."""
    _ends.append(over)


# ---- helper processes

def apart(*_: Any) -> None:
    """Called in a helper process: the lease's SIGTERM, which goes to the whole process group,
    does not reach it any more, so the rank can finish its step and then end its helpers itself.
    `Loader` does this in the workers of a DataLoader; `Pool(initializer=muster.apart)` elsewhere.
    """
    try:
        os.setpgid(0, 0)
    except OSError:
        return  # It leads a session: it is apart.
    if signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        while signal.sigtimedwait([signal.SIGTERM], 0):
            pass  # Came before we were apart.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
