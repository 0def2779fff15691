#!/usr/bin/env python3
"""muster.ralp on a network of four nodes, each in its own network namespace: bytes on the wire, and
with MUSTER_LONG=1 the speed on slow links.

    tests/ralp_network_test.py MUSTER bytes|speed

It needs the permission to create network namespaces, the commands ip and tc, and PyTorch.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
RANKS = ROOT / "python" / "tests" / "ralp_ranks.py"
LONG = os.environ.get("MUSTER_LONG") == "1"
PATIENCE = 300
WORKERS = 3
PROGRAM = ""
# A frame of TCP over IPv4 with timestamps: Ethernet 14 bytes, IP 20, TCP 32.
HEADERS = 66
# 15 MB of parameters. The advised cut is before the third convolution and sends 26 times less.
LARGE = {"channels": [64, 128, 256], "wide": 800, "batch": 8}


class Network:
    """Nodes 10.77.0.1, 10.77.0.2, ... at one switch. Each namespace exists as long as a process in
    it, so nothing remains after close()."""

    def __init__(self, nodes, rate=None):
        self.keepers = []
        try:
            self.switch = self.namespace()
            self.inside(self.switch, "ip link add switch type bridge")
            self.inside(self.switch, "ip link set switch up")
            self.nodes = [self.namespace() for _ in range(nodes)]
            for number, node in enumerate(self.nodes, 1):
                port = f"port{number}"
                self.inside(self.switch, f"ip link add {port} mtu 9000 type veth peer name eth0 "
                                         f"mtu 9000 netns {node}")
                self.inside(self.switch, f"ip link set {port} master switch up")
                self.inside(node, "ip link set lo up")
                self.inside(node, f"ip address add 10.77.0.{number}/24 dev eth0")
                self.inside(node, "ip link set eth0 up")
                for place, device in ((self.switch, port), (node, "eth0")) if rate else ():
                    self.inside(place, f"tc qdisc add dev {device} root tbf rate {rate} burst 80kb "
                                       "latency 400ms")
        except BaseException:
            self.close()
            raise

    def namespace(self):
        """Returns the id of a process in a new namespace."""
        keeper = subprocess.Popen(["unshare", "-n", "sleep", "900"], stderr=subprocess.PIPE,
                                  text=True)
        self.keepers.append(keeper)
        ours = os.readlink("/proc/self/ns/net")
        end = time.monotonic() + 10
        while keeper.poll() is None and time.monotonic() < end:
            if os.readlink(f"/proc/{keeper.pid}/ns/net") != ours:
                return keeper.pid
            time.sleep(0.01)
        keeper.kill()
        raise PermissionError(keeper.stderr.read().strip())

    @staticmethod
    def inside(namespace, command):
        words = ["nsenter", f"--net=/proc/{namespace}/ns/net", *command.split()]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PermissionError(f"{command}: {done.stderr.strip()}")

    def run(self, **task):
        """Runs one rank on each node and returns the result of rank 0."""
        task = {"program": PROGRAM, "counters": "eth0", "link": "100Mb/s", "compute": "5G", "epochs": 1,
                **task}
        size = WORKERS + (task.get("how") != "ddp")
        env = {**os.environ, "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": "1",
               "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500"}
        if task.get("how") == "ddp":
            env["GLOO_SOCKET_IFNAME"] = "eth0"
        ranks = [subprocess.Popen(
            ["nsenter", f"--net=/proc/{node}/ns/net", sys.executable, RANKS, "--rank", str(rank),
             json.dumps(task)], env=env, stdout=subprocess.PIPE, text=True)
            for rank, node in enumerate(self.nodes[:size])]
        try:
            out = ranks[0].communicate(timeout=PATIENCE)[0]
            if any(rank.wait(PATIENCE) != 0 for rank in ranks):
                raise AssertionError("a rank failed")
            return json.loads(out)
        finally:
            for rank in ranks:
                rank.kill()
                rank.communicate()

    def close(self):
        for keeper in self.keepers:
            keeper.kill()
            keeper.wait()
            keeper.stderr.close()


class NetworkTest(unittest.TestCase):
    def network(self, rate=None):
        for command in ("ip", "tc", "nsenter", "unshare"):
            if shutil.which(command) is None:
                self.skipTest(f"SKIPPED: network: {command} is not installed")
        if subprocess.run([sys.executable, "-c", "import torch"], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("SKIPPED: network: PyTorch is missing; apt install python3-torch")
        try:
            network = Network(WORKERS + 1, rate)
        except PermissionError as error:
            self.skipTest(f"SKIPPED: network: cannot create namespaces: {error}")
        self.addCleanup(network.close)
        return network

    def check_bytes(self, result):
        """Compares the counters of the server's interface with the advice, without the first step,
        which includes the start."""
        rows, advice = result["rows"], result["advice"]
        deltas = [last - first for first, last in zip(rows[0]["counters"], rows[-1]["counters"])]
        steps = len(rows) - 1
        expected = WORKERS * (advice["bytes_per_step"] or advice["data_parallel_bytes"])
        for way, data, packets in (("received", deltas[0], deltas[2]), ("sent", deltas[1], deltas[3])):
            payload = (data - HEADERS * packets) / steps
            print(f"{way}: {data / steps / 1e6:.3f} MB per step on the wire, {payload / 1e6:.3f} MB "
                  f"without headers; advice {expected / 1e6:.3f} MB "
                  f"({data / steps / expected - 1:+.1%}, {payload / expected - 1:+.1%})")
            self.assertAlmostEqual(data / steps / expected, 1, delta=0.05)
            self.assertAlmostEqual(payload / expected, 1, delta=0.05)


class Bytes(NetworkTest):
    def test_bytes_on_the_wire_are_those_of_the_advice(self):
        network = self.network()
        cut = network.run(steps=4, batch=32, channels=[16, 32, 64])
        self.assertEqual(cut["advice"]["layers"], 11)
        self.check_bytes(cut)


@unittest.skipUnless(LONG, "takes a minute and a half: only with MUSTER_LONG=1")
class Speed(NetworkTest):
    def seconds(self, result):
        rows = result["rows"]
        return (rows[-1]["s"] - rows[0]["s"]) / (len(rows) - 1)

    def test_a_slow_network_shows_half_of_the_predicted_factor(self):
        network = self.network("100mbit")
        cut = network.run(steps=9, **LARGE)
        whole = network.run(steps=4, cut=None, **LARGE)
        ring = network.run(steps=5, how="ddp", **LARGE)
        self.check_bytes(cut)
        whole["advice"] = {**cut["advice"], "bytes_per_step": None}
        self.check_bytes(whole)
        predicted = cut["advice"]["factor"]
        measured = self.seconds(whole) / self.seconds(cut)
        ring_predicted = cut["advice"]["all_reduce_factor"]
        ring_measured = self.seconds(ring) / self.seconds(cut)
        print(f"seconds per step: cut {self.seconds(cut):.2f}, data parallel with the same server "
              f"{self.seconds(whole):.2f} (factor {measured:.1f}, predicted {predicted:.1f}), "
              f"all-reduce {self.seconds(ring):.2f} (factor {ring_measured:.1f}, predicted "
              f"{ring_predicted:.1f})")
        self.assertGreater(measured, predicted / 2)
        self.assertGreater(ring_measured, ring_predicted / 2)
        for one, other in zip(cut["rows"], whole["rows"]):
            self.assertAlmostEqual(one["loss"], other["loss"], delta=2e-5)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], sys.argv[2].capitalize()], verbosity=2)
