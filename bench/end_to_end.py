#!/usr/bin/env python3
"""Measures the whole program on the cases that have a limit, and reports whether each limit holds.

    cmake --preset release && cmake --build build/release
    bench/end_to_end.py                  all cases, five runs each; exit status 1 above a limit
    bench/end_to_end.py --only philly    the cases whose name contains this text
    bench/end_to_end.py --quick          one small run per kind of case, without limits, for ctest

CPU time is the user and system time of the whole process, including reading the trace. Other
processes on the machine affect it, so repeat the measurement. The median of the runs must not
exceed the limit. Peak memory is that of the process, or of this script (about 15 MB) if that is
more.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple, Optional

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "build" / "release"


class Case(NamedTuple):
    name: str
    what: str  # The policy, or another text that identifies the row.
    command: list
    cpu_bar: Optional[float] = None  # Seconds.
    rss_bar: Optional[float] = None  # Megabytes.


class Figures(NamedTuple):
    best: float
    median: float
    rss_mb: float


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--muster", default=RELEASE / "bin" / "muster")
    parser.add_argument("--tune-bench", default=RELEASE / "bench" / "tune_bench")
    shared = ROOT / ".." / "shared" / "data"
    parser.add_argument("--data", default=os.environ.get("MUSTER_DATA", shared),
                        help="directory of philly_full.csv")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="run only cases whose name contains this text")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.runs = 1
    for program in (args.muster, args.tune_bench):
        if not pathlib.Path(program).is_file():
            sys.exit(f"end_to_end: {program} not found; build the release preset first")
    return args


def run(command):
    """Runs the command once. Returns the CPU seconds and peak memory in MB of this process."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            out.seek(0)
            sys.exit(f"end_to_end: exit {process.returncode} of {' '.join(map(str, command))}\n"
                     + out.read().decode(errors="replace"))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def measure(case, runs):
    figures = [run(case.command) for _ in range(runs)]
    cpu = [seconds for seconds, _ in figures]
    return Figures(min(cpu), statistics.median(cpu), max(rss for _, rss in figures))


def policies(muster):
    """Returns all registered policies, from the first block of `muster policies`."""
    lines = subprocess.run([muster, "policies"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return [line.split()[0] for line in lines[2:lines.index("")]]


def write_peers_trace(path, jobs):
    """Writes a trace in Tiresias' format with the distribution of the 5,000-job trace that the
    other simulators were measured with (shared/data/README.md, baseline_syn)."""
    draw = random.Random(1)
    submit = 0
    with open(path, "w", encoding="ascii") as file:
        file.write("job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n")
        for job in range(jobs):
            gpus = draw.choices((1, 2, 4, 8, 16), (60, 12, 12, 11, 5))[0]
            seconds = round(min(max(draw.lognormvariate(7.2, 1.6), 60), 345600))
            gap = round(draw.expovariate(1 / 60))
            file.write(f"{job},{gpus},{submit},{seconds * 4},resnet50,{seconds},{gap}\n")
            submit += gap


def sim_cases(args, folder):
    """Yields all cases that run `muster sim`. Writes traces to `folder`."""
    quick = args.quick
    names = policies(args.muster)
    for mix in ("multi", "single"):
        trace = folder / f"{mix}.csv"
        jobs = 50 if quick else 4000
        subprocess.run([args.muster, "trace", "generate", "--jobs", str(jobs), "--rate", "16",
                        "--gpu-mix", mix, "--out", trace], check=True)
        yield Case(f"rounds: 512 GPUs, {jobs:,} jobs, {mix}", "srtf + tune",
                   [args.muster, "sim", "--trace", trace, "--cluster", "64x8", "--policy", "srtf",
                    "--mechanism", "tune", "--round", "300s"], cpu_bar=0.5)
    trace = folder / "peers.csv"
    jobs = 100 if quick else 5000
    write_peers_trace(trace, jobs)
    for compat in ([], ["--compat", "tiresias"]):
        for policy in names:
            yield Case(f"events: 128 GPUs, {jobs:,} jobs" + (", compat" if compat else ""), policy,
                       [args.muster, "sim", "--trace", trace, "--cluster", "32x4", "--policy",
                        policy] + compat, cpu_bar=0.030)
    philly = pathlib.Path(args.data) / "philly_full.csv"
    if quick:
        return
    if not philly.is_file():
        print(f"skipped: the philly cases; {philly} not found (set --data or MUSTER_DATA)")
        return
    for cluster in ("80x8", "64x8"):
        for policy in names:
            yield Case(f"philly: 82,247 jobs, {cluster}", policy,
                       [args.muster, "sim", "--trace", philly, "--cluster", cluster, "--policy",
                        policy], cpu_bar=5.0, rss_bar=300)


def tune_plan(args):
    """Measures one plan from scratch with tune_bench, which makes many plans per process and
    therefore uses its own timer."""
    gpus = 128 if args.quick else 10000
    command = [args.tune_bench, f"--benchmark_filter=TunePlan.*gpus:{gpus}/multi:0",
               f"--benchmark_repetitions={args.runs}", "--benchmark_format=json",
               "--benchmark_min_time=" + ("0.001" if args.quick else "0.2")]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    times = [row["cpu_time"] / 1000 for row in json.loads(output)["benchmarks"]
             if row["run_type"] == "iteration"]
    case = Case(f"plan: {gpus:,} GPUs and jobs, from scratch", "tune", command, cpu_bar=0.050)
    return case, Figures(min(times), statistics.median(times), 0)


def holds(case, figures):
    return ((case.cpu_bar is None or figures.median <= case.cpu_bar)
            and (case.rss_bar is None or figures.rss_mb <= case.rss_bar))


def row(case, figures, judged):
    bar = ""
    if judged:
        bar = f"{case.cpu_bar:g} s" + (f", {case.rss_bar:g} MB" if case.rss_bar else "")
    verdict = ("yes" if holds(case, figures) else "NO") if judged else "-"
    rss = f"{figures.rss_mb:.0f}" if figures.rss_mb else "-"
    return (f"{case.name:42} {case.what:15} {figures.best:7.4f} / {figures.median:7.4f}  {rss:>6}"
            f"  {bar:14} {verdict}")


def main():
    args = arguments()
    judged = not args.quick
    missed = 0
    print(f"{'case':42} {'policy':15} CPU s best / median  RSS MB  {'limit':14} holds")
    with tempfile.TemporaryDirectory() as folder:
        cases = (case for case in sim_cases(args, pathlib.Path(folder)) if args.only in case.name)
        measured = ((case, measure(case, args.runs)) for case in cases)
        for case, figures in measured:
            missed += judged and not holds(case, figures)
            print(row(case, figures, judged), flush=True)
    if args.only in "plan":
        case, figures = tune_plan(args)
        missed += judged and not holds(case, figures)
        print(row(case, figures, judged))
    if missed:
        print(f"{missed} limit(s) missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
