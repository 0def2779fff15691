#!/usr/bin/env python3
"""How well `muster profile` predicts speeds at shares of CPU that it did not measure, with the
trainer of examples/ and demands planted in it. Needs a machine with nothing else to do.

    bench/profile_accuracy.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile

# CPU ms to load a step, ms that a step takes on the GPU that is not there.
JOBS = [(4, 20), (8, 20), (16, 20), (24, 20)]
POINTS = [0.2, 0.3, 0.6, 0.9, 1.3]  # CPUs, asked for beside those that were measured.


def profile(build, scratch, job, *words):
    load, gpu = job
    trainer = [build / "bin/trainer", "--steps", 1_000_000, "--report-every", 5,
               "--loaders", 2, "--load-ms", load, "--gpu-ms", gpu]
    run = subprocess.run(list(map(str, [build / "bin/muster", "profile", "--json", "--alone",
                                        *words, "--", *trainer])),
                         cwd=scratch, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def believed(points, cpus):
    """As SpeedCurve::at(): straight lines between points, from nothing at none."""
    before = (0, 0)
    for milli, rate, _ in points:
        if cpus * 1000 <= milli:
            part = (cpus * 1000 - before[0]) / (milli - before[0])
            return before[1] + part * (rate - before[1])
        before = (milli, rate)
    return before[1]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    worst, cost, grid = 0.0, 0.0, 0.0
    print(f"{'load':>6}{'GPU':>7}{'CPUs':>7}{'believed':>11}{'measured':>11}{'error':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for job in JOBS:
            found = profile(build, scratch, job)
            cost += found["seconds"]
            grid += found["grid_seconds"]
            for cpus in POINTS:
                if any(abs(milli - 1000 * cpus) < 20 for milli, _, _ in found["points"]):
                    continue
                # The most CPU is measured first, and a budget of nothing ends it there.
                direct = profile(build, scratch, job, "--most-cpus", cpus, "--budget", "1s")
                rate = direct["points"][-1][1]
                guess = believed(found["points"], cpus)
                error = guess / rate - 1
                worst = max(worst, abs(error))
                print(f"{job[0]:>3} ms{job[1]:>4} ms{cpus:>7.2f}{guess:>9.1f}/s{rate:>9.1f}/s"
                      f"{100 * error:>7.1f}%", flush=True)
    print(f"worst {100 * worst:.1f}%; {cost:.0f} s of running, where the grid would take "
          f"{grid:.0f} s: {grid / cost:.1f}x less")


if __name__ == "__main__":
    main()
