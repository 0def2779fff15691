#!/usr/bin/env python3
"""Draws docs/img/load.svg: mean job completion time against load, by mechanism.

    tools/load_chart.py build/release/bin/muster docs/img/load.svg

Simulates generated workloads of 4,000 one-GPU jobs on 128 GPUs under fifo in rounds of 300 s, and
plots the mean of jobs 3,000 to 4,000. Needs only the standard library."""
import json
import subprocess
import sys
import tempfile

RATES = [5, 6, 7, 7.5, 8, 8.5, 9, 9.5, 10, 10.5, 11]
MECHANISMS = [("proportional", "#8a8f98"), ("tune", "#2f6fde"), ("blend", "#d9480f")]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 400, 64, 48, 150, 52
MOST_HOURS = 80.0


def measure(muster):
    rows = []
    for rate in RATES:
        with tempfile.NamedTemporaryFile(suffix=".csv") as trace:
            subprocess.run([muster, "trace", "generate", "--jobs", "4000", "--rate", str(rate),
                            "--out", trace.name], check=True)
            done = subprocess.run(
                [muster, "sim", "--trace", trace.name, "--cluster", "16x8", "--round", "300s",
                 "--mechanism", ",".join(name for name, _ in MECHANISMS),
                 "--window", "3000:4000", "--json"], check=True, capture_output=True)
        rows.append([run["jct_mean_s"] / 3600 for run in json.loads(done.stdout)])
        print(f"{rate:4} jobs/h " + "  ".join(f"{hours:7.2f} h" for hours in rows[-1]))
    return rows


def draw(rows):
    def x(rate):
        return LEFT + (rate - RATES[0]) / (RATES[-1] - RATES[0]) * (WIDTH - LEFT - RIGHT)

    def y(hours):
        return TOP + (1 - min(hours, MOST_HOURS) / MOST_HOURS) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="Helvetica, Arial, sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="26" font-size="15" font-weight="bold" fill="#1b1f24">'
           'Mean job completion time as the load grows (128 GPUs, FIFO)</text>']
    for hours in range(0, int(MOST_HOURS) + 1, 20):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(hours):.1f}" '
                   f'y2="{y(hours):.1f}" stroke="#e3e6ea"/>'
                   f'<text x="{LEFT - 8}" y="{y(hours) + 4:.1f}" text-anchor="end" '
                   f'fill="#57606a">{hours} h</text>')
    for rate in RATES:
        out.append(f'<text x="{x(rate):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" '
                   f'fill="#57606a">{rate:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle" '
               'fill="#57606a">jobs per hour</text>')
    # Labels at the ends of the lines, moved apart if they would overlap.
    ends = sorted((y(rows[-1][i]), i) for i in range(len(MECHANISMS)))
    label_y, previous = {}, -100.0
    for at, i in ends:
        previous = max(at, previous + 17)
        label_y[i] = previous
    for i, (name, color) in enumerate(MECHANISMS):
        points = []
        for rate, row in zip(RATES, rows):
            points.append(f"{x(rate):.1f},{y(row[i]):.1f}")
            if row[i] > MOST_HOURS:
                break
        out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" '
                   'stroke-width="2.5" stroke-linejoin="round"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 10}" y="{label_y[i] + 4:.1f}" fill="{color}" '
                   f'font-weight="bold">{name}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2], "w") as file:
        file.write(draw(measure(sys.argv[1])))
