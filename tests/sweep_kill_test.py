#!/usr/bin/env python3
"""A sweep that is killed at any moment and resumed gives the same bytes as an uninterrupted one.

    tests/sweep_kill_test.py MUSTER [KILLS]
"""

import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

GRID = """sim:
  trace: {trace}
  cluster: 8x4
  policy: [fifo, srtf, las, ftf]
  mechanism: [proportional, tune]
  round: 300s
  seed: 1-3
"""


def tables(out):
    return [(out / name).read_bytes() for name in ("results.csv", "means.csv")]


def main():
    muster = sys.argv[1]
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    chance = random.Random(5)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        trace = scratch / "jobs.csv"
        subprocess.run([muster, "trace", "generate", "--jobs", "600", "--rate", "20",
                        "--out", str(trace)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        grid = scratch / "grid.yaml"
        grid.write_text(GRID.format(trace=trace))

        def sweep(out, **more):
            return subprocess.Popen([muster, "sweep", str(grid), "--out", str(out)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)

        whole = scratch / "whole"
        began = time.monotonic()
        process = sweep(whole)
        _, said = process.communicate()
        assert process.returncode == 0, said
        took = time.monotonic() - began

        killed = 0
        for attempt in range(6):  # The machine may have become faster since the measurement.
            broken = scratch / f"broken-{attempt}"
            for _ in range(kills):
                process = sweep(broken)
                time.sleep(chance.random() * took * 0.6 / 2 ** attempt)
                process.send_signal(signal.SIGKILL)
                process.communicate()
                killed += process.returncode == -signal.SIGKILL
            if killed > 0:
                break
        process = sweep(broken)
        _, said = process.communicate()
        assert process.returncode == 0, said
        assert killed > 0, "it was never killed in the middle"
        assert tables(whole) == tables(broken), "another result after being killed"
        cells = len(list((broken / "cells").iterdir()))
        assert cells == 24, f"{cells} files for 24 cells"
        print(f"killed {killed} times, then the same {sum(map(len, tables(whole)))} bytes")


if __name__ == "__main__":
    main()
