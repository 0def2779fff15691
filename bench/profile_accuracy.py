#!/usr/bin/env python3
"""Measures how well `muster profile` predicts speeds at CPU limits that it did not measure, with
the trainer of examples/ and known demands. Needs an otherwise idle machine.

    bench/profile_accuracy.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile

# (CPU ms to load the data of a step, ms of a step on the simulated GPU).
JOBS = [(4, 20), (8, 20), (16, 20), (24, 20)]
POINTS = [0.2, 0.3, 0.6, 0.9, 1.3]  # CPU limits to predict.


def profile(build, scratch, job, *words):
    load, gpu = job
    trainer = [build / "bin/trainer", "--steps", 1_000_000, "--report-every", 5,
               "--loaders", 2, "--load-ms", load, "--gpu-ms", gpu]
    run = subprocess.run(list(map(str, [build / "bin/muster", "profile", "--json", "--alone",
                                        *words, "--", *trainer])),
                         cwd=scratch, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def believed(points, cpus):
    """Returns the predicted speed like SpeedCurve::at(): linear interpolation from (0, 0)."""
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
    print(f"{'load':>6}{'GPU':>7}{'CPUs':>7}{'predicted':>11}{'measured':>11}{'error':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for job in JOBS:
            found = profile(build, scratch, job)
            cost += found["seconds"]
            grid += found["grid_seconds"]
            for cpus in POINTS:
                if any(abs(milli - 1000 * cpus) < 20 for milli, _, _ in found["points"]):
                    continue
                # The largest CPU limit is measured first; the small budget ends the run after it.
                direct = profile(build, scratch, job, "--most-cpus", cpus, "--budget", "1s")
                rate = direct["points"][-1][1]
                guess = believed(found["points"], cpus)
                error = guess / rate - 1
                worst = max(worst, abs(error))
                print(f"{job[0]:>3} ms{job[1]:>4} ms{cpus:>7.2f}{guess:>9.1f}/s{rate:>9.1f}/s"
                      f"{100 * error:>7.1f}%", flush=True)
    print(f"worst {100 * worst:.1f}%; measured in {cost:.0f} s; the full grid would take "
          f"{grid:.0f} s ({grid / cost:.1f}x)")


if __name__ == "__main__":
    main()
