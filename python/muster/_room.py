"""How much memory a cache may take before the job, or its neighbours, run out of it."""

import os
import re
from typing import Iterator, NamedTuple, Optional

_NO_LIMIT = 1 << 60  # Control groups without a limit say a number near 2**63, or "max".


class Room(NamedTuple):
    """So many bytes are left, and why no more: the end of a sentence."""

    left: int
    what: str


def amount(size: float) -> str:
    """A number of bytes as people write it."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} bytes"


def room(directory: Optional[str] = None, proc: str = "/proc",
         cgroups: str = "/sys/fs/cgroup") -> Room:
    """The least of: free memory of the machine, what is left of the job's memory limit, and free
    space of the directory, if the cache is a file there."""
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
    """What is left of each memory limit this process is under: its group's and those above."""
    for line in _text(f"{proc}/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mounts, limit, used, prefix = ("", "/unified"), "max", "current", ""
        elif "memory" in controllers.split(","):
            mounts, limit, used, prefix = ("/memory",), "limit_in_bytes", "usage_in_bytes", "total_"
        else:
            continue
        for mount in mounts:
            # Inside a container the path may be the host's: then only the mount's root is there.
            parts = path.strip("/").split("/")
            for depth in range(len(parts), -1, -1):
                group = "/".join([cgroups + mount] + parts[:depth]).rstrip("/")
                most = _number(f"{group}/memory.{limit}")
                if most is None or most >= _NO_LIMIT:
                    continue
                stat = dict(re.findall(r"^(\w+) (\d+)$", _text(f"{group}/memory.stat"), re.M))
                # Pages of files are given back when memory is short; those of shared memory not.
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
