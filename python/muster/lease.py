"""The lease and rank of this process, and whether it should stop."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from types import FrameType
from typing import Any, Callable, List, NamedTuple, Optional

_LOOK_EVERY = 1.0  # Seconds between checks that need a system call.


class Lease(NamedTuple):
    """One run of a job. A higher lease epoch means a newer lease of the same job."""

    manager: str  # Id of the manager. Different managers may use the same job ids.
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
    """Returns the lease of this process, or None if Muster did not start it."""
    job, epoch = _number("MUSTER_JOB", 0), _number("MUSTER_EPOCH", 0)
    if job <= 0 or epoch <= 0:
        return None
    return Lease(os.environ.get("MUSTER_MANAGER") or _by_home(), job, epoch)


def _by_home() -> str:
    """Returns an id for a manager that does not set MUSTER_MANAGER, derived from its state
    directory. The progress file is HOME/leases/jJOB.eEPOCH/progress.jsonl."""
    home = os.path.dirname(os.path.dirname(os.environ.get("MUSTER_PROGRESS", "")))
    return hashlib.sha256(os.fsencode(home)).hexdigest()[:16]


def rank() -> int:
    """Returns the rank of this process in the job, from 0 (RANK)."""
    return _number("RANK", 0)


def world_size() -> int:
    """Returns the number of processes of the job (WORLD_SIZE)."""
    return _number("WORLD_SIZE", 1)


def local_rank() -> int:
    """Returns the rank of this process among the job's processes on this node, from 0
    (LOCAL_RANK)."""
    return _number("LOCAL_RANK", 0)


# ---- when to stop

_asked = False  # A stop was requested.
_watching = False
_previous: Any = signal.SIG_DFL
_ends: List[Callable[[], bool]] = []  # Other checks whether the lease has ended.
_looked = 0.0


def _on_sigterm(number: int, frame: Optional[FrameType]) -> None:
    global _asked
    _asked = True
    if callable(_previous):
        _previous(number, frame)


def watch() -> bool:
    """Installs a SIGTERM handler that requests a stop instead of ending the process. It also calls
    the previous handler. `Loader` calls this. Returns False, without effect, in other threads than
    the main thread."""
    global _watching, _previous
    if _watching:
        return True
    if threading.current_thread() is not threading.main_thread():
        return False
    _previous = signal.signal(signal.SIGTERM, _on_sigterm)
    _watching = True
    return True


# A forked helper restores the previous SIGTERM handler; otherwise its parent could not terminate
# it. SIGTERM is blocked during fork(), because the child resets `_asked` and would lose a signal.
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
    """Requests a stop, as SIGTERM does."""
    global _asked
    _asked = True


def should_stop() -> bool:
    """Returns whether to save and exit: SIGTERM was received, request_stop() was called, or a newer
    lease has claimed the checkpoint."""
    global _asked, _looked
    now = time.monotonic()
    if not _asked and now - _looked >= _LOOK_EVERY:
        _looked = now
        _asked = any(over() for over in _ends)
    return _asked


def also_ends_when(over: Callable[[], bool]) -> None:
    """Registers a check whether the lease has ended. should_stop() calls it at most once per
    second."""
    _ends.append(over)


# ---- helper processes

def apart(*_: Any) -> None:
    """Moves a helper process to its own process group. The lease's SIGTERM goes to the whole group
    and then no longer reaches the helper, so the rank can finish its step and end its helpers.
    `Loader` calls this in DataLoader workers; use `Pool(initializer=muster.apart)` elsewhere.
    """
    try:
        os.setpgid(0, 0)
    except OSError:
        return  # A session leader already has its own process group.
    if signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        while signal.sigtimedwait([signal.SIGTERM], 0):
            pass  # Discards a SIGTERM that was sent to the old group.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
