#!/usr/bin/env python3
"""Tests of muster.cache with PyTorch's data loader; skipped where PyTorch is not installed.

    python3 python/tests/torch_cache_test.py [TestCase[.test]]
"""

import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cache_test import content  # noqa: E402
from cache_shared_test import COUNT, SIZE, SharedCase  # noqa: E402

from muster.cache import CachedDataset  # noqa: E402

HAS_TORCH = importlib.util.find_spec("torch") is not None


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class WithPyTorch(SharedCase):
    """The same numbers by PyTorch's own data loader."""

    def loader_epochs(self, epochs, **options):
        from torch.utils.data import DataLoader  # Here: each spawned worker imports this file.
        loader = DataLoader(self.data, batch_size=8, shuffle=True, num_workers=4, collate_fn=list,
                            **options)
        for epoch in range(epochs):
            self.data.set_epoch(epoch)
            seen = [item for batch in loader for item in batch]
            self.assertEqual(sorted(seen), sorted(content(key, SIZE) for key in range(COUNT)))
            counters = self.data.cache.epoch_counters()
            self.assertEqual(counters.read_bytes, SIZE * sum(self.reads()))
            self.assertEqual(counters.read_bytes, SIZE * (COUNT if epoch == 0 else COUNT - 80))
        self.check_memory()

    def test_data_loader(self):
        self.loader_epochs(3)

    def test_data_loader_with_workers_that_stay(self):
        self.loader_epochs(3, persistent_workers=True)

    def test_data_loader_that_spawns(self):
        self.loader_epochs(2, multiprocessing_context="spawn")

    def test_tensors(self):
        import torch
        import torch.utils.data
        items = [(torch.full((3, 4), i), i) for i in range(10)]
        data = CachedDataset(items, 100_000)
        for _ in range(2):
            batches = list(torch.utils.data.DataLoader(data, batch_size=5, num_workers=2))
            self.assertEqual(batches[1][1].tolist(), [5, 6, 7, 8, 9])
            self.assertEqual(batches[1][0][0].tolist(), [[5] * 4] * 3)
        self.assertEqual(data.counters()[:2], (10, 10))


if __name__ == "__main__":
    unittest.main()
