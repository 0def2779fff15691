#!/usr/bin/env python3
"""Measures how many grants muster-grant signs per second: over one connection, over several
connections at the same time, and with a new connection for each grant. Needs root.

    cmake --preset release && cmake --build build/release --target muster-grant
    bench/grant_rate.py [--seconds N]

The clients share the CPUs with the service. They are Python processes, one per user.
"""

import argparse
import multiprocessing
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
from grant_service import ANN, GRANT_BYTES, GrantService, exchange, question  # noqa: E402


def ask(service, uid, seconds, reuse, counts):
    """Counts the grants of one user in the given time."""
    end = service.connect(uid)
    count = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not reuse:
            end = service.connect(uid)
        if len(exchange(end, question())) != GRANT_BYTES:
            raise SystemExit("no grant")
        count += 1
    counts.put(count)


def rate(service, users, seconds, reuse):
    counts = multiprocessing.Queue()
    clients = [multiprocessing.Process(target=ask, args=(service, ANN + n, seconds, reuse, counts))
               for n in range(users)]
    for client in clients:
        client.start()
    total = sum(counts.get(timeout=seconds + 60) for _ in clients)
    for client in clients:
        client.join()
    return total / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=5)
    seconds = parser.parse_args().seconds
    if os.geteuid() != 0:
        sys.exit("bench/grant_rate.py: start it as root")
    service = GrantService(ROOT / "build" / "release" / "bin" / "muster-grant")
    try:
        service.start()
        for users in (1, 2, 4):
            for reuse in (True, False):
                how = "one connection each" if reuse else "a new connection per grant"
                grants = rate(service, users, seconds, reuse)
                print(f"{users} clients, {how}: {grants:,.0f} grants/s", flush=True)
    finally:
        service.remove()


if __name__ == "__main__":
    main()
