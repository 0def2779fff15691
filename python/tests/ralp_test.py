#!/usr/bin/env python3
"""Tests of muster.ralp; skipped without PyTorch.

    python3 python/tests/ralp_test.py MUSTER [TestCase[.test]]

Tests that train start a parameter server and three workers as processes (ralp_ranks.py). They need
the program, and are skipped without it.
"""

import importlib.util
import json
import os
import pathlib
import pickle
import sys
import unittest

from helper import LibraryTest

HAS_TORCH = importlib.util.find_spec("torch") is not None
PROGRAM = None  # Path of muster.
RANKS = pathlib.Path(__file__).resolve().parent / "ralp_ranks.py"
if HAS_TORCH:
    import torch
    from muster import _chain, _exchange, _parameter_server, ralp
    from ralp_ranks import VGG
    from torch import nn

needs_torch = unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")


def small(*more):
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Flatten(),
                         nn.Linear(144, 8), *more)


def sample():
    return torch.zeros(1, 3, 8, 8)


@needs_torch
class Chains(LibraryTest):
    def refused(self, model, reason):
        with self.assertRaises(ralp.NotAChain) as raised:
            _chain.Chain(model, sample())
        self.assertIn(reason, str(raised.exception))

    def test_nested_sequential(self):
        chain = _chain.Chain(nn.Sequential(small(), nn.Sequential(nn.ReLU(), nn.Linear(8, 2))),
                             sample())
        self.assertEqual(chain.names, ["0.0", "0.1", "0.2", "0.3", "1.0", "1.1"])
        self.assertEqual([row["name"] for row in chain.rows], ["0.0", "0.3", "1.1"])
        self.assertEqual([row["output_bytes"] for row in chain.rows], [4 * 144, 4 * 8, 4 * 2])
        self.assertEqual([n for n in range(8) if chain.may_cut(n)], [1, 2, 3, 4, 5, 6])

    def test_vgg_and_its_training_modes(self):
        model = VGG(64).train()
        model.features.eval()
        chain = _chain.Chain(model, torch.zeros(1, 3, 32, 32))
        self.assertEqual(chain.names[8:12], ["features.8", "avgpool", "flatten", "classifier.0"])
        self.assertEqual((model.training, model.features[0].training), (True, False))

    def test_alexnet_starts_its_head_with_dropout(self):
        class AlexNet(VGG):
            pass

        model = AlexNet(64, dropout=0.5)
        model.classifier.insert(0, nn.Dropout())
        chain = _chain.Chain(model, torch.zeros(1, 3, 32, 32))
        self.assertEqual([chain.names[n] for n in chain.trained[2:4]],
                         ["features.6", "classifier.1"])
        self.assertEqual(chain.rows[2]["output_bytes"], 4 * 256)

    def test_blocks_are_one_layer_and_frozen_parameters_are_not_sent(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

            def forward(self, x):
                return x + self.two(self.one(x))

        block = Block()
        block.one.requires_grad_(False)
        chain = _chain.Chain(small(block, nn.Linear(8, 2)), sample())
        self.assertEqual([row["parameter_bytes"] for row in chain.rows][2], 4 * 72)
        self.assertEqual(chain.rows[2]["output_bytes"], 4 * 8)

    def test_a_layer_with_another_type_is_rejected(self):
        class Half(nn.Module):
            def forward(self, x):
                return x.double()

        model = small(Half())
        with self.assertRaisesRegex(_chain.NotAChain, "returns torch.float64"):
            _chain.Chain(model, sample())
        chain = _chain.Chain(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2)).double(),
                             torch.zeros(1, 8, dtype=torch.float64))
        self.assertEqual(chain.type, torch.float64)

    def test_no_cut_between_layers_that_share_parameters(self):
        model = small(nn.ReLU(), nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(),
                      nn.Linear(8, 2))
        model[7].weight = model[5].weight
        chain = _chain.Chain(model, sample())
        self.assertEqual([n for n in range(11) if chain.may_cut(n)], [1, 2, 3, 4, 5, 8, 9, 10])
        self.assertEqual(sum(row["parameter_bytes"] for row in chain.rows),
                         4 * sum(p.numel() for p in model.parameters()))

    def test_others_are_rejected_with_the_reason(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(3, 3)

        class Turned(VGG):
            def forward(self, x):
                return -super().forward(x)

        Turned.__name__ = "VGG"
        self.refused(Net(), "Net is not a chain: its forward() decides how data flows")
        with self.assertRaisesRegex(ralp.NotAChain, "not the chain of its layers"):
            _chain.Chain(Turned(64), torch.zeros(1, 3, 32, 32))
        twice = nn.Linear(8, 8)
        self.refused(small(twice, nn.ReLU(), twice), "layer '6' appears twice")
        twice.requires_grad_(False)
        self.refused(small(twice, nn.ReLU(), twice), "layer '6' appears twice")
        self.refused(small(nn.SyncBatchNorm(8)), "layer '4' is SyncBatchNorm")
        self.refused(small(nn.Linear(8, 2).double()), "one type: torch.float32 and torch.float64")
        self.refused(nn.Sequential(nn.ReLU()), "one type: nothing")
        self.refused(small(nn.LSTM(8, 2)), "layer '4' returns a tuple, not one tensor")
        self.refused(nn.Sequential(nn.Embedding(4, 4, sparse=True)), "has sparse gradients")

    def test_random_numbers_depend_on_seed_and_layer_only(self):
        chain = _chain.Chain(small(nn.Dropout(), nn.Linear(8, 2), nn.Dropout()), sample())
        data = torch.randn(2, 3, 8, 8)
        state = torch.get_rng_state()
        whole = chain.run(data, 0, 7, (3, 1, 0))
        torch.manual_seed(99)
        parts = chain.run(chain.run(data, 0, 4, (3, 1, 0)), 4, 7, (3, 1, 0))
        self.assertTrue(torch.equal(whole, parts))
        self.assertFalse(torch.equal(whole, chain.run(data, 0, 7, (3, 2, 0))))
        torch.set_rng_state(state)
        chain.run(data, 0, 7, (3, 1, 0))
        self.assertTrue(torch.equal(state, torch.get_rng_state()))


@needs_torch
class Parts(LibraryTest):
    def test_flat_parameters_are_views(self):
        model = nn.Linear(3, 2)
        before = model.weight.detach().clone()
        flat = _exchange.Flat(list(model.parameters()))
        self.assertTrue(torch.equal(model.weight, before))
        model(torch.ones(1, 3)).sum().backward()
        self.assertEqual(flat.grads.tolist(), [1.0] * 8)
        flat.values.zero_()
        self.assertEqual(model.weight.abs().sum().item(), 0)

    def test_checkpoints_cannot_run_code(self):
        with self.assertRaises(pickle.UnpicklingError):
            path = self.folder / "bad.pt"
            torch.save({"model": unittest.TestCase()}, path)
            with open(path, "rb") as file:
                _parameter_server._load(file)

    def test_numbers_of_optimizers_are_exact(self):
        state = {"state": {0: {"step": 3}}, "param_groups": [
            {"lr": 0.1, "betas": (0.9, 1e-300), "nesterov": False, "max": None}]}
        path = self.folder / "ok.pt"
        torch.save(_parameter_server._exact(state), path)
        with open(path, "rb") as file:
            got = _parameter_server._numbers(_parameter_server._load(file))
        state["param_groups"][0]["betas"] = [0.9, 1e-300]
        self.assertEqual(got, state)

    def test_interface_of_loopback(self):
        self.assertEqual(_exchange._interface_to("127.0.0.1"), "lo")
        self.assertIsNone(_exchange._interface_to("::1"))

    def test_one_process_is_not_enough(self):
        with self.assertRaisesRegex(ValueError, "WORLD_SIZE is 1; a parameter server and at least"):
            ralp.train(small(), None, None, None, sample=sample(), batch=1, epochs=1)

    def test_cut_of_the_caller(self):
        chain = _chain.Chain(small(), sample())
        self.assertEqual([ralp._chosen(chain, cut).layers for cut in (None, 2)], [4, 2])
        for cut in (0, 5, "x"):
            with self.assertRaisesRegex(ValueError, f"cannot be cut after {cut!r} of its 4 layers"):
                ralp._chosen(chain, cut)

    def test_command_that_is_missing(self):
        with self.assertRaisesRegex(RuntimeError, "/no/muster: No such file or directory; set pro"):
            ralp.advise(small(), sample(), workers=2, batch=4, program="/no/muster")


@needs_torch
class Training(LibraryTest):
    def setUp(self):
        super().setUp()
        if PROGRAM is None:
            self.skipTest("no program given")

    def start(self, *tasks):
        return self.start_script(str(RANKS), *(json.dumps({"program": PROGRAM, **task})
                                               for task in tasks))

    def train(self, *tasks):
        """Runs one task after the other and returns their results."""
        process = self.start(*tasks)
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, err), (0, ""))
        return list(map(json.loads, out.splitlines()))

    def losses(self, result):
        return [row["loss"] for row in result["rows"]]

    def assert_same(self, one, other, relative=2e-5):
        """The losses of both runs and the sums of all their values are the same."""
        self.assertEqual(len(one["rows"]), len(other["rows"]))
        self.assertEqual(one["state"].keys(), other["state"].keys())
        pairs = [*zip(self.losses(one), self.losses(other)),
                 *((values, other["state"][name]) for name, values in one["state"].items())]
        for mine, theirs in pairs:
            self.assertAlmostEqual(mine, theirs, delta=relative * max(1, abs(theirs)))

    def test_the_advice_is_that_of_the_command(self):
        advice = ralp.advise(VGG(512), torch.zeros(1, 3, 32, 32), workers=3, batch=4,
                             link="100Mb/s", compute="5G", program=PROGRAM)
        # Three convolutions, and 256 numbers for each of 4 samples.
        kept = 4 * (8 * 27 + 8 + 16 * 72 + 16 + 16 * 144 + 16)
        self.assertEqual((advice.layers, advice.bytes_per_step), (11, kept + 4 * 4 * 256))
        values = sum(p.numel() for p in VGG(512).parameters())
        self.assertEqual(advice.data_parallel_bytes, 4 * values)
        self.assertAlmostEqual(advice.factor, 4 * values / (kept + 4096), places=2)
        # A ring sends two thirds of the values twice, the server three times in each direction.
        self.assertAlmostEqual(advice.all_reduce_factor, advice.factor * 4 / 3 / 6, places=2)
        self.assertIn("Keep classifier.0, classifier.3 and classifier.6 of VGG only", advice.text)
        even = ralp.advise(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)), torch.zeros(1, 8),
                           workers=3, batch=4, program=PROGRAM)
        self.assertEqual((even.layers, even.factor), (2, 1))
        self.assertAlmostEqual(even.all_reduce_factor, 4 / 3 / 6, places=2)
        self.assertIn("Leave Sequential data parallel: fewer than three layers", even.text)
        with self.assertRaisesRegex(RuntimeError, "--link: must be a bandwidth"):
            ralp.advise(small(), sample(), workers=2, batch=4, link="fast", program=PROGRAM)

    def test_losses_are_those_of_data_parallel_training(self):
        # Batches of different sizes: the gradient is the mean of the means of the workers.
        sizes = {"0,3": 1, "1,3": 3}
        plain, cut, whole = self.train({"sizes": sizes, "how": "ddp"}, {"sizes": sizes},
                                       {"sizes": sizes, "cut": None})
        self.assertEqual(cut["advice"]["layers"], 11)
        self.assert_same(cut, plain)
        self.assert_same(whole, plain)

    def test_batch_normalization_sees_the_batches_of_workers(self):
        # With 4 samples, normalization would make rounding errors visible after a few steps.
        task = {"model": "batch_norm", "batch": 16}
        plain, cut = self.train({**task, "how": "ddp"}, task)
        self.assertEqual(cut["advice"]["layers"], 14)
        self.assert_same(cut, plain)

    def test_dropout_and_preemption(self):
        task = {"model": "dropout", "adam": True}
        saved = {**task, "checkpoint": str(self.folder / "vgg.pt")}
        uncut, whole, *leases = self.train(
            {**task, "cut": None}, task,
            {**saved, "stop": [2, 1]},  # One worker gets the signal in an epoch.
            {**saved, "stop": [0, 2]},  # The lease ends after the last batch of an epoch.
            {**saved, "stop": [1, 7]})  # The signal arrives before the end of the last epoch.
        self.assert_same(whole, uncut)
        self.assertEqual([lease["step"] for lease in leases], [3, 4, 8])
        self.assertEqual([lease["finished"] for lease in leases], [False, False, True])
        self.assertEqual(sum(map(self.losses, leases), []), self.losses(whole))
        self.assertEqual(leases[-1]["state"], whole["state"])

    def test_mistakes_end_all_ranks(self):
        for task, reason in (({"fewer": {"1": 1}}, "worker 1 has only 3 batches in epoch 0"),
                             ({"link": "fast"}, "--link: must be a bandwidth")):
            with self.subTest(task=task):
                process = self.start(task)
                _, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 1)
                self.assertIn(reason, err)


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.access(sys.argv[1], os.X_OK):
        PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
