#!/usr/bin/env python3
"""The commands of src/exec/slurm and their output, with a real Slurm: RealSlurm of exec_slurm_test.

    slurm_words_test.py SLURM_TEST
"""

import os
import pathlib
import subprocess
import sys
import tempfile

BED = pathlib.Path(__file__).parents[1] / "tools" / "slurm-testbed"


def main(program):
    check = subprocess.run([BED, "check"], capture_output=True, text=True, check=False)
    if check.returncode != 0:
        print(f"SKIPPED: Slurm: {check.stderr.strip()}")
        return 0
    with tempfile.TemporaryDirectory(prefix="muster-bed-") as scratch:
        os.chmod(scratch, 0o755)
        bed = f"{scratch}/bed"
        subprocess.run([BED, "up", "--dir", bed, "--nodes", "24", "--racks", "2"], check=True)
        try:
            env = {**os.environ, "SLURM_CONF": f"{bed}/slurm.conf", "MUSTER_SLURM_TESTBED": bed}
            return subprocess.run([program, "--gtest_filter=RealSlurm.*"], env=env, check=False,
                                  timeout=600).returncode
        finally:
            subprocess.run([BED, "down", "--dir", bed], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
