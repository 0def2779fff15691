"""Reports the job's progress to the manager: one line of JSON per report in $MUSTER_PROGRESS."""

from __future__ import annotations

import errno
import json
import math
import os
import time
from typing import Any, Dict, Mapping, Optional, Tuple

from .lease import rank

_MOST_BYTES = 4096  # The manager ignores longer lines.
_SHORTEST = 0.2  # Minimum seconds for a meaningful rate.
_since: Optional[Tuple[float, float]] = None  # A reported step and its time: start of the rate.
_dropped = 0  # Lines that a full pipe did not take; the next line contains the count.
_torn = False  # The last line was written only in part, e.g. because the disk is full.


def _finite(value: Any) -> Optional[float]:
    """Returns `value` as a number for JSON, or None. Tensors with one element are numbers too."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _measured(step: Optional[float]) -> Optional[float]:
    """Returns the steps per second since an earlier report, or None if that was too recent."""
    global _since
    if step is None:
        return None
    now = time.monotonic()
    if _since is None or step < _since[0]:
        _since = (step, now)
        return None
    steps, seconds = step - _since[0], now - _since[1]
    if steps == 0 or seconds < _SHORTEST:
        return None
    _since = (step, now)
    return round(steps / seconds, 3)


def _append(path: str, line: Dict[str, Any]) -> None:
    global _dropped, _torn
    if _dropped:
        line["dropped"] = _dropped
    text = (json.dumps(line, separators=(",", ":")) + "\n").encode()
    if len(text) > _MOST_BYTES:
        return
    if _torn:
        text = b"\n" + text
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
    try:
        file = os.open(path, flags, 0o644)
        try:
            _torn = os.write(file, text) < len(text)
        finally:
            os.close(file)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.ENXIO):  # A pipe that is full or has no reader.
            _dropped += 1
        raise


def report(*, step: Any = None, epoch: Any = None, loss: Any = None, rate: Any = None,
           total: Any = None, saved: bool = False,
           cache: Optional[Mapping[str, Any]] = None) -> None:
    """Reports the job's progress, which `muster queue`, `status` and `top` show.

    `rate` is in steps per second (default: measured between reports). `total` is the number of
    steps of the whole job. `saved` means that a checkpoint contains the work so far; the manager
    prefers to stop jobs that lose little work. `cache` contains the counters of muster.cache, which
    reports them itself. Only rank 0 reports, and only under Muster. Values that cannot be reported
    (such as NaN) are omitted, and errors (such as a full disk) are ignored: reporting never fails or
    blocks a job. The lines that a full pipe does not take are counted, and the next line contains
    the count.
    """
    try:
        path = os.environ.get("MUSTER_PROGRESS")
        if not path or rank() != 0:
            return
        given = {"step": step, "epoch": epoch, "loss": loss, "rate": rate, "total": total}
        line: Dict[str, Any] = {}
        for name, value in given.items():
            number = None if value is None else _finite(value)
            if number is not None:
                line[name] = number
        pace = _measured(line.get("step"))
        if pace is not None:
            line.setdefault("rate", pace)
        if saved:
            line["saved"] = True
        if cache:
            counts = {name: _finite(value) for name, value in cache.items()}
            line["cache"] = {name: count for name, count in counts.items() if count is not None}
        if line:
            _append(path, line)
    except (OSError, ValueError):
        pass
