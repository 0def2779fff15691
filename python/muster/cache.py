"""A cache of a dataset that never evicts (the MinIO cache of CoorDL), shared by a node's processes.

A training epoch reads every item once, in a new order. An LRU cache evicts items shortly before
they are needed. A cache that keeps the first items and never evicts them hits exactly the items
that it holds, in every epoch:

    bytes read from storage per epoch = bytes of the dataset - bytes held        from epoch two on

The cache stores items in the order of their first use while they fit into the budget, so
`held <= budget`. If all items have the same size and it divides the budget, `held == budget`. An
item that does not fit is never stored.

    train = muster.cache.CachedFiles("/data/train", budget=8_000_000_000)
    loader = torch.utils.data.DataLoader(train, num_workers=4, shuffle=True)
    for epoch in range(90):
        train.set_epoch(epoch)          # reports the counters to the manager
        for batch in loader: ...

Processes that are forked or spawned by the process that created the cache share it. Processes that
were started separately, such as the ranks of a node, share it if they use the same name:
`CachedFiles(..., name="train")`. Linux only. The items are in shared memory, which counts against
the job's memory limit.
"""

import hashlib
import operator
import os
from collections import OrderedDict
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from muster._store import Cache, Counters, packed

__all__ = ["Cache", "CachedDataset", "CachedFiles", "Counters", "Lru"]

Path = Union[str, "os.PathLike[str]"]


class CachedDataset:
    """A map-style dataset (PyTorch's, or anything with `[i]` and `len`) behind a cache.

    `bytes` items are stored unchanged, other items as pickles. `read_bytes` counts these sizes. The
    cache stores the first result of `dataset[i]`, so random augmentation belongs in `transform`,
    which is called for every item, cached or not.
    """

    def __init__(self, dataset: Any, budget: int, name: Optional[str] = None,
                 transform: Optional[Callable[[Any], Any]] = None):
        self.dataset = dataset
        self.transform = transform
        self.cache = Cache(budget, name, items=len(dataset), tag=self._tag())

    def _tag(self) -> int:
        return 0

    def _load(self, index: int) -> Any:
        return self.dataset[index]

    def __len__(self) -> int:
        return self.cache.items

    def __getitem__(self, index: int) -> Any:
        number, count = operator.index(index), self.cache.items
        if not -count <= number < count:
            raise IndexError(f"item {number} is out of range: the dataset has {count} items")
        number %= count
        item = self.cache.fetch(number, lambda: self._load(number))
        return item if self.transform is None else self.transform(item)

    def set_epoch(self, epoch: int) -> Optional[Counters]:
        """Starts a training epoch; see `Cache.set_epoch`."""
        return self.cache.set_epoch(epoch)

    def counters(self) -> Counters:
        """Returns the total counters. `cache.epoch_counters()` returns those of this epoch."""
        return self.cache.counters()

    def close(self) -> None:
        self.cache.close()


class CachedFiles(CachedDataset):
    """Files as bytes behind a cache: all files below a directory, sorted by path, or the files of a
    list. `paths[i]` is the path of item i."""

    def __init__(self, paths: Union[Path, Sequence[Path]], budget: int, name: Optional[str] = None,
                 transform: Optional[Callable[[bytes], Any]] = None):
        self.paths = _files(paths)
        super().__init__(self.paths, budget, name, transform)

    def _tag(self) -> int:
        digest = hashlib.blake2b("\0".join(self.paths).encode(errors="surrogateescape"),
                                 digest_size=8)
        return int.from_bytes(digest.digest(), "little")

    def _load(self, index: int) -> bytes:
        try:
            with open(self.paths[index], "rb", buffering=0) as file:
                return file.read()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"'{self.paths[index]}' was in the dataset, but no longer exists") from None


class Lru:
    """An LRU cache for one process, similar to a page cache, for comparisons. `fetch` and
    `counters` are the same as in `Cache`."""

    def __init__(self, budget_bytes: int):
        self._budget = budget_bytes
        self._held = self._seen = self._hits = self._misses = self._read = 0
        self._items: "OrderedDict[int, Tuple[Any, int]]" = OrderedDict()
        self._known: set = set()

    def fetch(self, key: int, load: Callable[[], Any]) -> Any:
        if key in self._items:
            self._items.move_to_end(key)
            self._hits += 1
            return self._items[key][0]
        item = load()
        size = len(packed(item)[1])
        self._misses += 1
        self._read += size
        if key not in self._known:
            self._known.add(key)
            self._seen += size
        if size <= self._budget:
            while self._held + size > self._budget:
                self._held -= self._items.popitem(last=False)[1][1]
            self._items[key] = (item, size)
            self._held += size
        return item

    def counters(self) -> Counters:
        return Counters(self._hits, self._misses, self._held, self._budget, self._seen, self._read)


def _files(paths: Union[Path, Sequence[Path]]) -> List[str]:
    """Returns the paths of all files, and checks that listed files exist. Sorts the files of a
    directory by path."""
    if not isinstance(paths, (str, os.PathLike)):
        listed = [os.fspath(path) for path in paths]
        for path in listed:
            if not os.path.isfile(path):
                raise FileNotFoundError(_missing(path))
        return listed
    root = os.fspath(paths)
    if os.path.isfile(root):
        return [root]
    if not os.path.isdir(root):
        raise FileNotFoundError(_missing(root))

    def refuse(error: OSError) -> None:
        raise PermissionError(f"cannot list '{error.filename}' of the dataset: {error.strerror}")

    found = sorted(os.path.join(folder, name) for folder, _, names in os.walk(root, onerror=refuse)
                   for name in names)
    if not found:
        raise FileNotFoundError(f"the dataset's directory '{root}' has no files")
    return found


def _missing(path: str) -> str:
    """Returns an error message that contains the first missing part of the path."""
    if os.path.exists(path):
        return f"the dataset's path '{path}' is not a file"
    first = os.path.abspath(path)
    while not os.path.exists(os.path.dirname(first)):
        first = os.path.dirname(first)
    where = "" if first == os.path.abspath(path) else f": '{first}' is missing"
    return f"the dataset's path '{path}' does not exist{where}"
