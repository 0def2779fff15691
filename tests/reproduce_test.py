#!/usr/bin/env python3
"""Runs `muster reproduce` and compares its tables with docs/results.md.

    tests/reproduce_test.py MUSTER            the experiments of the short form
    tests/reproduce_test.py MUSTER --all      all experiments (a minute); also with MUSTER_LONG=1

Experiments that need data files are compared only if the files are in $MUSTER_DATA or ../shared/data.
"""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "results.md"


def plain(text):
    """The text as page_markdown() writes it, without the escapes."""
    return text.replace("\\", "").strip()


def documented_rows():
    """Claim -> (published, Muster, verdict), as the document shows them."""
    rows = {}
    for line in DOCUMENT.read_text().splitlines():
        cells = [plain(cell) for cell in line.split(" | ")]
        if line.startswith("| ") and len(cells) == 6 and cells[0] != "| claim":
            claim = cells[0].lstrip("| ")
            rows[(claim, cells[1])] = (cells[2], cells[3], cells[5].rstrip(" |"))
    return rows


def measured_rows(out):
    for path in sorted(pathlib.Path(out).glob("claims-*.csv")):
        with open(path, newline="") as file:
            for row in list(csv.reader(file))[1:]:
                yield (plain(row[0]), plain(row[1])), (row[2], row[3], plain(row[5]))


def main():
    muster = sys.argv[1]
    everything = "--all" in sys.argv[2:] or os.environ.get("MUSTER_LONG")
    data = os.environ.get("MUSTER_DATA", str(ROOT.parent / "shared" / "data"))
    documented = documented_rows()
    findings, measured, skipped = [], set(), 0
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out")
        command = [muster, "reproduce", "all", "--data", data, "--out", out]
        done = subprocess.run(command + ([] if everything else ["--short"]),
                              capture_output=True, text=True)
        if done.returncode != 0:
            findings.append(f"exit status {done.returncode}: {done.stderr}")
        for key, (published, ours, verdict) in measured_rows(out):
            if verdict.startswith("not run"):
                skipped += 1
                continue
            measured.add(key)
            if documented.get(key) != (published, ours, verdict):
                findings.append(f"{key}: measured {(published, ours, verdict)}, "
                                f"docs/results.md has {documented.get(key)}")
    if everything and not skipped:
        findings += [f"{key}: in docs/results.md, but no experiment has it"
                     for key in documented if key not in measured]
    print("\n".join(findings))
    print(f"reproduce: {len(measured)} claims compared, {skipped} skipped (no data), "
          f"{len(findings)} findings")
    return 1 if findings or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
