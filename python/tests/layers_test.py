#!/usr/bin/env python3
"""Tests of muster.layers; those that need PyTorch are skipped where it is not installed.

    python3 python/tests/layers_test.py [MUSTER] [TestCase[.test]]

With the program, what is exported is also given to `muster layers`.
"""

import contextlib
import csv
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from muster import layers  # noqa: E402

HAS_TORCH = importlib.util.find_spec("torch") is not None
PROGRAM = None  # Path of muster.


def run_main(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = layers.main(list(words))
    return status, out.getvalue(), err.getvalue()


class Text(unittest.TestCase):
    ROWS = [{"name": "a,b", "type": "Conv2d", "parameter_bytes": 8, "output_bytes": None, "macs": 4},
            {"name": "fc", "type": "Linear", "parameter_bytes": 16, "output_bytes": 40, "macs": 4}]

    def test_csv(self):
        self.assertEqual(layers.csv_text(self.ROWS),
                         'name,type,parameter_bytes,output_bytes,macs\n'
                         '"a,b",Conv2d,8,,4\nfc,Linear,16,40,4\n')

    def test_json(self):
        out = json.loads(layers.json_text("m", self.ROWS))
        self.assertEqual(out, {"model": "m", "layers": self.ROWS})


@unittest.skipIf(HAS_TORCH, "PyTorch is installed")
class WithoutPyTorch(unittest.TestCase):
    def test_says_so(self):
        status, out, err = run_main("os:path", "--input", "3")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("PyTorch is not installed", err)
        self.assertEqual(err.count("\n"), 1)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Tables(unittest.TestCase):
    def table(self, model, *shape, **options):
        import torch
        return layers.layer_table(model, torch.zeros(1, *shape, **options))

    def column(self, rows, key):
        return [row[key] for row in rows]

    def plain(self):
        from torch import nn
        return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(128, 50),
                             nn.ReLU(), nn.Linear(50, 10))

    def test_plain_model(self):
        model = self.plain()
        model.train()
        rows = self.table(model, 3, 8, 8)
        self.assertTrue(model.training)
        self.assertEqual(self.column(rows, "name"), ["0", "1", "6", "8"])
        self.assertEqual(self.column(rows, "type"), ["Conv2d", "BatchNorm2d", "Linear", "Linear"])
        # Scale, offset and both moving averages travel.
        self.assertEqual(self.column(rows, "parameter_bytes"),
                         [4 * (27 * 8 + 8), 4 * 4 * 8, 4 * (128 * 50 + 50), 4 * (500 + 10)])
        # After pooling what crosses is a quarter.
        self.assertEqual(self.column(rows, "output_bytes"),
                         [4 * 8 * 64, 4 * 8 * 16, 4 * 50, 4 * 10])
        self.assertEqual(self.column(rows, "macs"), [27 * 8 * 64, 0, 128 * 50, 500])

    def test_residual_blocks_are_not_cut(self):
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Conv2d(4, 4, 1, bias=False)
                self.two = nn.Conv2d(4, 4, 1, bias=False)

            def forward(self, x):
                y = self.two(self.one(x).relu())
                y += x  # In place, as torchvision has it.
                return y.relu_()

        rows = self.table(nn.Sequential(nn.Conv2d(3, 4, 1), Block(), Block(), nn.Flatten(),
                                        nn.Linear(36, 2)), 3, 3, 3)
        self.assertEqual(self.column(rows, "output_bytes"), [144, None, 144, None, 144, 8])

    def test_given_modules_are_the_rows(self):
        import torch
        from torch import nn
        block = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))
        model = nn.Sequential(block, nn.ReLU(), nn.Linear(4, 2))
        rows = layers.layer_table(model, torch.zeros(1, 6),
                                  modules=[("block", block), ("end", model[2])])
        self.assertEqual(self.column(rows, "name"), ["block", "end"])
        self.assertEqual(self.column(rows, "parameter_bytes"), [4 * (35 + 24), 4 * 10])
        self.assertEqual(self.column(rows, "output_bytes"), [4 * 4, 4 * 2])
        self.assertEqual(self.column(rows, "macs"), [30 + 20, 8])

    def test_branches_are_cut_behind_them_only(self):
        import torch
        from torch import nn

        class Module(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Conv2d(4, 2, 1)
                self.b = nn.Conv2d(4, 3, 1)

            def forward(self, x):
                return torch.cat([self.a(x), self.b(x)], 1)

        rows = self.table(nn.Sequential(nn.Conv2d(3, 4, 1), Module(), nn.Conv2d(5, 1, 1)), 3, 2, 2)
        self.assertEqual(self.column(rows, "output_bytes"), [64, None, 80, 16])

    def test_weights_used_twice_hold_the_model_together(self):
        from torch import nn

        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(100, 8)
                self.middle = nn.Linear(8, 8)
                self.head = nn.Linear(8, 100, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, x):
                return self.head(self.middle(self.embed(x)))

        import torch
        rows = self.table(Tied(), 5, dtype=torch.int64)
        self.assertEqual(self.column(rows, "parameter_bytes"), [3200, 4 * 72, 0])
        self.assertEqual(self.column(rows, "output_bytes"), [None, None, 4 * 500])
        self.assertEqual(self.column(rows, "macs"), [0, 5 * 64, 5 * 800])

        shared = nn.Linear(4, 4, bias=False)
        rows = self.table(nn.Sequential(shared, nn.ReLU(), shared, nn.Linear(4, 2)), 4)
        self.assertEqual(self.column(rows, "name"), ["0", "0#2", "3"])
        self.assertEqual(self.column(rows, "output_bytes"), [None, 16, 8])
        self.assertEqual(self.column(rows, "parameter_bytes"), [64, 0, 40])

    def test_attention_counts_all_its_parameters(self):
        from torch import nn
        model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        rows = self.table(model, 5, 16)
        self.assertEqual(sum(self.column(rows, "parameter_bytes")),
                         4 * sum(p.numel() for p in model.parameters()))
        # Four projections of 16 x 16, two of 16 x 32, for 5 tokens; and 5 x 5 scores, twice.
        self.assertEqual(sum(self.column(rows, "macs")), 5 * (4 * 256 + 2 * 512) + 2 * 25 * 16)

    def test_only_the_part_that_is_taken_crosses(self):
        from torch import nn

        class First(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(8, 8)
                self.b = nn.Linear(8, 2)

            def forward(self, x):
                return self.b(self.a(x)[:, 0])

        self.assertEqual(self.column(self.table(First(), 5, 8), "output_bytes"), [4 * 8, 8])

    def test_transposed_and_grouped_convolutions(self):
        from torch import nn
        rows = self.table(nn.Sequential(nn.ConvTranspose2d(3, 5, 2, stride=2, bias=False),
                                        nn.Conv2d(5, 10, 3, groups=5, bias=False)), 3, 4, 4)
        self.assertEqual(self.column(rows, "macs"), [3 * 5 * 4 * 16, 10 * 9 * 36])


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Program(unittest.TestCase):
    # The end of AlexNet on a small beginning: skewed.
    MODEL = """
from torch import nn
def make():
    convolutions = []
    for inputs, outputs in [(3, 16), (16, 16), (16, 32), (32, 32), (32, 32)]:
        convolutions += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
    return nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(6), nn.Flatten(),
                         nn.Linear(1152, 512), nn.ReLU(), nn.Linear(512, 512), nn.Linear(512, 10))
number = 3
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.other = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return self.used(x)
"""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = os.path.join(self.folder.name, "net.py")
        pathlib.Path(self.source).write_text(self.MODEL)

    def test_writes_csv_and_json(self):
        status, out, err = run_main(self.source + ":make", "--input", "3x24x24")
        self.assertEqual((status, err), (0, ""))
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual(len(rows), 8)
        target = os.path.join(self.folder.name, "net.json")
        self.assertEqual(run_main(self.source + ":make", "--input", "3x24x24", "--out", target),
                         (0, "", ""))
        out = json.loads(pathlib.Path(target).read_text())
        self.assertEqual(out["model"], "make")
        self.assertEqual([row["name"] for row in out["layers"]], [row["name"] for row in rows])
        self.assertEqual(sorted(os.listdir(self.folder.name))[-2:], ["net.json", "net.py"])

    def test_parameters_not_used_are_named(self):
        status, _, err = run_main(self.source + ":Head", "--input", "4")
        self.assertEqual(status, 0)
        self.assertEqual(err, "note: 2 parameters are unused and not counted: other.weight, "
                              "other.bias\n")

    def test_refuses_in_one_line(self):
        for words, what in [
                ((self.source, "--input", "3"), "MODEL: must be module:name"),
                ((self.source + ":made", "--input", "3"), "cannot be created: AttributeError"),
                (("no.such:thing", "--input", "3"), "cannot be created: ModuleNotFoundError"),
                ((self.source + ":number", "--input", "3"), "cannot be created: TypeError"),
                ((self.source + ":make", "--input", "3x"), "must be a shape such as 3x224x224"),
                ((self.source + ":make", "--input", "3:word"), "must be a type such as float32"),
                ((self.source + ":make", "--input", "4x24x24"), "does not run on 4x24x24"),
                ((self.source + ":make", "--input", "3x24x24", "--out", "/no/where.csv"),
                 "/no/where.csv")]:
            with self.subTest(words=words):
                status, out, err = run_main(*words)
                self.assertEqual((status, out), (2, ""))
                self.assertIn(what, err)
                self.assertTrue(err.endswith("; nothing was written\n"), err)
                self.assertEqual(err.count("\n"), 1, err)

    def test_muster_reads_it(self):
        if PROGRAM is None:
            self.skipTest("no program given")
        for end in ("csv", "json"):
            target = os.path.join(self.folder.name, "net." + end)
            run_main(self.source + ":make", "--input", "3x24x24", "--out", target)
            got = subprocess.run([PROGRAM, "layers", target, "--json"], capture_output=True,
                                 text=True, check=True)
            out = json.loads(got.stdout)
            self.assertTrue(out["skewed"])
            self.assertEqual(out["cut_behind"], "8")  # The last convolution.
            self.assertEqual(out["cut_activation_bytes"], 32 * 4 * 1152)


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.access(sys.argv[1], os.X_OK):
        PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
