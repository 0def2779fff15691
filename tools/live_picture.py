#!/usr/bin/env python3
"""live_picture.py MUSTER TRAINER OUT.svg: makes the picture of the live manager for the README.

Starts a manager in a temporary directory, submits jobs, kills the manager, starts it again, and
draws the output of the commands as a terminal.
"""

import html
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZE, LEADING, MARGIN, COLUMNS = 13, 18, 16, 96


def main():
    muster, trainer, out = (str(Path(word).resolve()) for word in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, MUSTER_HOME=home, NO_COLOR="1", USER="ann")
        lines = []

        def run(*words):
            return subprocess.run([muster, *words], env=env, cwd=home, text=True,
                                  capture_output=True, check=False).stdout.rstrip().split("\n")

        def show(shown, *words):
            lines.append(("prompt", shown))
            lines.extend(("out", line.replace(home, "~")) for line in run(*words))

        def submit(name, gpus, *more):
            job = ["--steps", "200000", "--load-ms", "2"]
            run("submit", "--name", name, "--gpus", str(gpus), *more, "--", trainer, *job)

        run("serve", "--background")
        submit("resnet", 2)
        submit("bert", 1)
        submit("gpt-sweep", 1, "--array", "0-2%2", "--priority", "-1")
        submit("eval", 1, "--after-ok", "1")
        time.sleep(5)
        show("muster queue", "queue")
        pid = int(Path(home, "journal.db.lock").read_text())
        lines.append(("prompt", "kill -9 $(pidof muster)      # pull the plug"))
        os.kill(pid, signal.SIGKILL)
        time.sleep(2)
        lines.append(("prompt", "muster serve --background"))
        lines.append(("out", run("serve", "--background")[0].replace(home, "~/.local/state/muster")))
        time.sleep(3)
        show("muster queue", "queue")
        lines.append(("prompt", "muster logs --tail 3 1"))
        lines.extend(("out", line) for line in run("logs", "--tail", "3", "1"))
        for job in range(1, 8):
            run("cancel", str(job))
        time.sleep(1)
        run("serve", "--stop")
    Path(out).write_text(drawn(lines), encoding="utf-8")


def drawn(lines):
    height = 2 * MARGIN + LEADING * len(lines)
    width = 2 * MARGIN + int(COLUMNS * SIZE * 0.61)
    rows = []
    for i, (kind, text) in enumerate(lines):
        text = html.escape(text[:COLUMNS]).replace(" ", "&#160;")  # SVG merges normal spaces.
        text = re.sub(r"\b(running|starting)\b", r'<tspan fill="#7ec699">\1</tspan>', text)
        text = re.sub(r"\b(queued|blocked)\b", r'<tspan fill="#e6c07b">\1</tspan>', text)
        if kind == "prompt":
            text = f'<tspan fill="#7aa2f7">$</tspan> <tspan fill="#ffffff">{text}</tspan>'
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + LEADING * (i + 1) - 5}">{text}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">\n'
            f'<rect width="{width}" height="{height}" rx="8" fill="#1a1b26"/>\n'
            f'<g font-family="monospace" font-size="{SIZE}" fill="#c0caf5">\n' + "\n".join(rows) +
            "\n</g>\n</svg>\n")


if __name__ == "__main__":
    main()
