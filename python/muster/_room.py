"""Computes how much memory a cache may use before the job or its neighbors run out of memory."""

import os
import re
from typing import Iterator, NamedTuple, Optional

_NO_LIMIT = 1 << 60  # Control groups without a limit report a number near 2**63, or "max".


class Room(NamedTuple):
    """The number of free bytes, and the resource that limits it, as the end of a sentence."""

    left: int
    what: str


def amount(size: float) -> str:
    """Formats a number of bytes: "1.5 GB"."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} bytes"


def room(directory: Optional[str] = None, proc: str = "/proc",
         cgroups: str = "/sys/fs/cgroup") -> Room:
    """Returns the smallest of: the machine's free memory, the rest of the job's memory limit, and
    the free space of `directory`, if the cache is a file there."""
    rooms = [Room(_NO_LIMIT, "addressable")]
    available = re.search(r"^MemAvailable:\s*(\d+) kB", _text(f"{proc}/meminfo"), re.MULTILINE)
    if available:
        rooms.append(Room(int(available[1]) * 1024, "free memory on this machine"))
    rooms.extend(_group_rooms(proc, cgroups))
    if directory is not None:
        facts = os.statvfs(directory)
        rooms.append(Room(facts.f_bavail * facts.f_frsize, f"free in {directory}"))
    return min(rooms)


def _group_rooms(proc: str, cgroups: str) -> Iterator[Room]:
    """Yields the rest of each memory limit of this process: that of its control group and those of
    the groups above."""
    for line in _text(f"{proc}/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mounts, limit, used, prefix = ("", "/unified"), "max", "current", ""
        elif "memory" in controllers.split(","):
            mounts, limit, used, prefix = ("/memory",), "limit_in_bytes", "usage_in_bytes", "total_"
        else:
            continue
        for mount in mounts:
            # In a container, the path may be the host's. Then only the root of the mount exists.
            parts = path.strip("/").split("/")
            for depth in range(len(parts), -1, -1):
                group = "/".join([cgroups + mount] + parts[:depth]).rstrip("/")
                most = _number(f"{group}/memory.{limit}")
                if most is None or most >= _NO_LIMIT:
                    continue
                stat = dict(re.findall(r"^(\w+) (\d+)$", _text(f"{group}/memory.stat"), re.M))
                # The kernel frees file pages when memory is short, but not pages of shared memory.
                files = int(stat.get(f"{prefix}cache", stat.get("file", 0)))
                files -= int(stat.get(f"{prefix}shmem", 0))
                taken = (_number(f"{group}/memory.{used}") or 0) - max(0, files)
                yield Room(max(0, most - taken), f"left of the memory limit of {amount(most)}")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _number(path: str) -> Optional[int]:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None
