"""A real Slurm with fake GPU nodes for a test module (tools/slurm-testbed), and its output.

    BED = slurm_bed.Bed(nodes=4)
    def setUpModule(): BED.up()
    def tearDownModule(): BED.down()

If there can be no testbed, the module is skipped with a reason: "SKIPPED: Slurm".
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "slurm-testbed"


class Bed:
    def __init__(self, **options):
        self.options = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        self.directory = None

    def tool(self, *words, check=True):
        return subprocess.run([TOOL, *words, f"--dir={self.directory}"], check=check, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def up(self):
        can = subprocess.run([TOOL, "check"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        if can.returncode != 0:
            print(f"SKIPPED: Slurm: {can.stdout.strip()}")
            raise unittest.SkipTest(can.stdout.strip())
        self.directory = tempfile.mkdtemp(prefix="muster-bed-")
        os.rmdir(self.directory)
        said = subprocess.run([TOOL, "up", f"--dir={self.directory}", *self.options], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if said.returncode != 0:
            raise AssertionError(said.stdout + said.stderr)
        os.environ["SLURM_CONF"] = re.search(r"SLURM_CONF=(\S+)", said.stdout).group(1).strip("'\"")

    def down(self):
        if self.directory is None:
            return
        self.tool("down", check=False)
        os.environ.pop("SLURM_CONF", None)
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- output of Slurm

    def run(self, *words, check=True):
        """Returns the output of a Slurm command. Tests kill the controller, and a command may run
        while it restarts: with `check` such a command is repeated for up to 60 s."""
        end = time.monotonic() + 60
        while True:
            done = subprocess.run([str(word) for word in words], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if not check or done.returncode == 0:
                return done.stdout
            # squeue and sinfo change nothing; any other command was not received if it could not
            # connect, so repeating it is safe.
            again = words[0] in ("squeue", "sinfo") or "connect failure" in done.stderr
            if not again or time.monotonic() > end:
                raise AssertionError(f"{words}: status {done.returncode}: {done.stderr.strip()}")
            time.sleep(0.2)

    def jobs(self, live=True):
        """Returns the rows of squeue: id, state, name, user, nodes, comment."""
        found = []
        said = self.run("squeue", "-h", "-t", "all", "-o", "%i\t%T\t%j\t%u\t%N\t%k")
        for line in said.splitlines():
            row = dict(zip(("id", "state", "name", "user", "nodes", "comment"), line.split("\t")))
            over = row["state"] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING",
                                        "SUSPENDED")
            if not (live and over):
                found.append(row)
        return found

    def ours(self, live=True):
        return [job for job in self.jobs(live) if job["comment"].startswith("muster:")]

    def resources(self, job):
        """Returns the resources of a job by node, from scontrol: (CPUs, MiB, GPUs)."""
        found = {}
        text = self.run("scontrol", "show", "job", "-d", job)
        for nodes, cpus, mem, gpus in re.findall(
                r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(?:gpu(?::\w+)?:(\d+))?", text):
            names = self.run("scontrol", "show", "hostnames", nodes).split()
            for name in names:
                found[name] = (count_ids(cpus), int(mem), int(gpus or 0))
        return found

    def node_state(self, node):
        return self.run("sinfo", "-h", "-N", "-n", node, "-o", "%T").split()[0]


def count_ids(text):
    """Returns the number of ids: 12 for "0-5,12-17"."""
    count = 0
    for part in text.split(","):
        low, _, high = part.partition("-")
        count += int(high or low) - int(low) + 1
    return count
