"""Implementation of the non-evicting cache: items in shared memory, their table, and counters.

Jobs use muster.cache.
"""

import contextlib
import errno
import importlib
import operator
import os
import pickle
import threading
import warnings
import weakref
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Set, Tuple

from muster import _room, _segment

_MAGIC = int.from_bytes(b"muster1\0", "little")
_SLOTS = 1024       # Maximum number of processes with counters at the same time.
_SLOT_WORDS = 8     # One cache line per process, to avoid false sharing.
_ITEM_HEAD = 16     # Before each item: its kind (0: bytes, 1: pickle) and its length.

# Layout of the first page. The unit is a word of 8 bytes.
_W_MAGIC, _W_ASKED, _W_BUDGET, _W_ITEMS, _W_TAG, _W_HELD, _W_TAIL, _W_SEEN, _W_USED = range(9)
_W_EPOCH, _W_ENDED = 16, 17  # Number of the epoch + 1; how many epochs have ended.
_W_BEGIN, _W_LAST = 18, 21   # Hits, misses, bytes read: at the epoch's start; of the last epoch.
_W_REDO = 32  # Redo record: key + 1, then table word, tail, bytes held, bytes seen. 0: none.
_SLOT_AT = 512
_TABLE_AT = _SLOT_AT + _SLOTS * _SLOT_WORDS


class Counters(NamedTuple):
    """Counters of a cache, summed over all processes that use it."""

    hits: int
    misses: int
    held_bytes: int
    budget_bytes: int
    dataset_bytes: int  # Size of all items seen so far: the whole dataset after the first epoch.
    read_bytes: int     # Bytes read from storage.


class Cache:
    """Stores items by number, from 0 to `items` - 1: bytes unchanged, other objects as pickles.

    `budget_bytes` is the memory for the items. The cache also needs 8 bytes per number and up to 23
    bytes per stored item. If not enough memory is free, the cache uses a smaller budget and warns.
    With a `name`, all processes of this lease (outside Muster: of this user) that use the same name
    share one cache. They must also use the same `tag`, a number that identifies the dataset.

    A hit takes no lock. Other processes see an item only when it is complete. A process that is
    killed while it stores an item leaves nothing behind and blocks no other process.
    """

    def __init__(self, budget_bytes: int, name: Optional[str] = None, items: int = 1 << 20,
                 tag: int = 0):
        if not isinstance(budget_bytes, (int, float)):
            raise TypeError(f"budget: {budget_bytes!r} is not a number; give the size of the cache "
                            "in bytes, such as 8_000_000_000 for 8 GB")
        asked, items = int(budget_bytes), operator.index(items)
        if asked < 0:
            raise ValueError(f"budget: {asked} is negative; use 0 to disable the cache")
        if items < 0:
            raise ValueError(f"items: {items} is negative")
        _segment.sweep()
        segment = _segment.Segment.named(name) if name is not None else _segment.Segment.unnamed()
        try:
            with segment.locked(_segment.WRITE):
                _prepare(segment, asked, items, tag, name)
        except BaseException:
            segment.close()
            raise
        self._use(segment)

    # ---- items

    def fetch(self, key: int, load: Callable[[], Any]) -> Any:
        """Returns the item. If it is not stored, calls `load()` and stores the result if it fits.
        If several processes request a new item, one loads it and the others wait."""
        word = self._word(key)
        if word == 0:
            return self._first(key, load)
        return self._take(word) if not word & 1 else self._load_again(word, load)

    def get(self, key: int) -> Any:
        """Returns the item if it is stored, otherwise None. None does not count as a miss, because
        nothing was read."""
        word = self._word(key)
        return self._take(word) if word and not word & 1 else None

    def put(self, key: int, item: Any) -> bool:
        """Stores the item if it fits. Returns whether it is stored now."""
        if self._word(key) == 0:
            self._store(key, *packed(item))
        word = self._word(key)
        return word != 0 and not word & 1

    def __contains__(self, key: int) -> bool:
        word = self._word(key)
        return word != 0 and not word & 1

    # ---- counters

    def counters(self) -> Counters:
        """Returns the counters since the cache was created."""
        return self._counters(*self._sums())

    def epoch_counters(self) -> Counters:
        """Returns the counters since the last `set_epoch`."""
        begin = self._words[_W_BEGIN:_W_BEGIN + 3]
        return self._counters(*(now - then for now, then in zip(self._sums(), begin)))

    def set_epoch(self, epoch: int) -> Optional[Counters]:
        """Starts a training epoch. Returns the counters of the previous epoch, or None for the
        first. All ranks of a node may call it. The first call with a new number ends the previous
        epoch and reports to the manager."""
        with self._changing():
            words = self._words
            before, number = words[_W_EPOCH], operator.index(epoch) + 1
            ends = before not in (0, number)
            if before != number:
                for i, now in enumerate(self._sums()):
                    words[_W_LAST + i] = now - words[_W_BEGIN + i]
                    words[_W_BEGIN + i] = now
                words[_W_ENDED] += ends
                words[_W_EPOCH] = number
            last = self._counters(*words[_W_LAST:_W_LAST + 3]) if words[_W_ENDED] else None
        if ends:
            self.report()
        return last

    def report(self) -> bool:
        """Appends the counters to the job's progress file, `{"cache": {"hits": ...}}`, for the
        manager. Returns False if the module muster.progress is missing."""
        try:
            progress = importlib.import_module("muster.progress")
        except ModuleNotFoundError:
            return False
        progress.report(cache=self.counters()._asdict())
        return True

    def allocated_bytes(self) -> int:
        """Returns the number of bytes of shared memory in use."""
        return self._segment.allocated()

    # ---- life

    def close(self) -> None:
        """Closes the cache in this process. The memory is freed when all processes have closed it
        or have ended."""
        _open_caches.discard(self)
        self._closing()

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        segment = self._segment
        return _attached, (os.getpid(), segment.fd, segment.identity(), segment.path)

    def _use(self, segment: _segment.Segment) -> None:
        self._segment = segment
        self._map = segment.attach()
        self._bytes = memoryview(self._map)
        self._words = self._bytes.cast("Q")
        self.items: int = self._words[_W_ITEMS]
        self._own_locks()
        self._closing = weakref.finalize(self, _let_go, segment, self._words, self._bytes)
        _open_caches.add(self)

    def _own_locks(self) -> None:
        self._slot: Optional[int] = None     # Word index of this process's counters.
        self._counting = threading.Lock()
        self._writing = threading.Lock()
        self._loads = threading.Condition()
        self._loading: Set[int] = set()      # Keys that threads of this process are loading.
        self._within = threading.local()     # Whether this thread is inside a load.

    def _after_fork(self) -> None:
        self._segment.after_fork()
        self._own_locks()

    # ---- within

    def _word(self, key: int) -> int:
        """Returns the item's table entry. 0: never seen. Odd: did not fit; its length times 2, plus
        1. Other values: position of the item in the segment."""
        if not 0 <= key < self.items:
            raise IndexError(f"item {key} of a cache for {self.items}")
        return self._words[_TABLE_AT + key]

    def _take(self, word: int) -> Any:
        at = word >> 3
        start = word + _ITEM_HEAD
        end = start + self._words[at + 1]
        # The process that stored the item made system calls before it wrote the word. We have read
        # the word, so the item is complete.
        if self._words[at]:
            item = pickle.loads(self._bytes[start:end])
        else:
            item = self._map[start:end]
        self._count(1, 0, 0)
        return item

    def _load_again(self, word: int, load: Callable[[], Any]) -> Any:
        item = load()
        self._count(0, 1, len(item) if type(item) is bytes else word >> 1)
        return item

    def _first(self, key: int, load: Callable[[], Any]) -> Any:
        with self._claim(key):
            word = self._word(key)
            if word:  # Another process has loaded it meanwhile.
                return self._take(word) if not word & 1 else self._load_again(word, load)
            item = load()
            kind, data = packed(item)
            self._store(key, kind, data)
        self._count(0, 1, len(data))
        return item

    @contextlib.contextmanager
    def _claim(self, key: int) -> Iterator[None]:
        """While the claim is held, no other thread or process loads the item."""
        if getattr(self._within, "load", False):
            yield  # A load that fetches other items takes no second claim, to avoid deadlocks.
            return
        with self._loads:
            while key in self._loading:
                self._loads.wait()
            self._loading.add(key)
        self._within.load = True
        try:
            with self._segment.locked(_segment.CLAIMS + key):
                yield
        finally:
            self._within.load = False
            with self._loads:
                self._loading.discard(key)
                self._loads.notify_all()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with self._writing, self._segment.locked(_segment.WRITE):
            self._redo()  # Completes the change of a process that was killed here.
            yield

    def _store(self, key: int, kind: int, data: bytes) -> None:
        refusal: Optional[OSError] = None
        with self._changing():
            words = self._words
            if words[_TABLE_AT + key]:
                return
            size, tail, held = len(data), words[_W_TAIL], words[_W_HELD]
            fits = held + size <= words[_W_BUDGET]
            if fits:
                try:
                    head = kind.to_bytes(8, "little") + size.to_bytes(8, "little")
                    self._segment.write(head, tail)
                    self._segment.write(data, tail + _ITEM_HEAD)
                except OSError as error:
                    if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.ENOMEM):
                        raise
                    fits, refusal = False, error
                    words[_W_BUDGET] = held
            if fits:
                change = (tail, (tail + _ITEM_HEAD + size + 7) & ~7, held + size)
            else:
                change = (size << 1 | 1, tail, held)
            for i, value in enumerate(change + (words[_W_SEEN] + size,), 1):
                words[_W_REDO + i] = value
            words[_W_REDO] = key + 1
            self._redo()
        if refusal is not None:
            warnings.warn(f"cache: no memory for more than {_room.amount(held)} "
                          f"({refusal.strerror}); the budget is reduced to this size",
                          RuntimeWarning)

    def _redo(self) -> None:
        """Applies the change in the redo record, if any. Applying it twice is harmless."""
        words = self._words
        if words[_W_REDO]:
            _, word, words[_W_TAIL], words[_W_HELD], words[_W_SEEN] = words[_W_REDO:_W_REDO + 5]
            words[_TABLE_AT + words[_W_REDO] - 1] = word  # Makes the item visible.
            words[_W_REDO] = 0

    def _count(self, hits: int, misses: int, read: int) -> None:
        with self._counting:
            slot = self._slot if self._slot is not None else self._take_slot()
            words = self._words
            if hits:
                words[slot] += 1
            else:
                words[slot + 1] += misses
                words[slot + 2] += read

    def _take_slot(self) -> int:
        """Reserves counters for this process: unused ones, or those of a process that has ended,
        which keep their values."""
        for number in range(_SLOTS):
            if self._segment.lock(_segment.SLOTS + number, wait=False):
                with self._changing():
                    self._words[_W_USED] = max(self._words[_W_USED], number + 1)
                self._slot = _SLOT_AT + number * _SLOT_WORDS
                return self._slot
        raise RuntimeError(f"more than {_SLOTS} processes use one cache")

    def _sums(self) -> List[int]:
        end = _SLOT_AT + self._words[_W_USED] * _SLOT_WORDS
        return [sum(self._words[_SLOT_AT + i:end:_SLOT_WORDS]) for i in range(3)]

    def _counters(self, hits: int, misses: int, read: int) -> Counters:
        words = self._words
        return Counters(hits, misses, words[_W_HELD], words[_W_BUDGET], words[_W_SEEN], read)


_open_caches: "weakref.WeakSet[Cache]" = weakref.WeakSet()


def _after_fork() -> None:
    for cache in list(_open_caches):
        cache._after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _let_go(segment: _segment.Segment, *views: memoryview) -> None:
    for view in views:
        view.release()
    segment.close()


def _attached(pid: int, fd: int, identity: Tuple[int, int], path: Optional[str]) -> Cache:
    cache = Cache.__new__(Cache)
    cache._use(_segment.Segment.of_process(pid, fd, identity, path))
    return cache


def packed(item: Any) -> Tuple[int, bytes]:
    """Returns the kind of an item (0: bytes, 1: pickle) and the bytes to store."""
    return (0, item) if type(item) is bytes else (1, pickle.dumps(item, protocol=5))


def _prepare(segment: _segment.Segment, asked: int, items: int, tag: int,
             name: Optional[str]) -> None:
    """Initializes the segment, or checks that it has the same parameters. REQUIRES: WRITE is
    locked."""
    ready = segment.size() > 0 and os.pread(segment.fd, 8 * (_W_TAG + 1), 0)
    words = memoryview(ready).cast("Q") if ready else None
    if words is None or words[_W_MAGIC] != _MAGIC:
        data = (_TABLE_AT + items) * 8
        os.ftruncate(segment.fd, 0)  # Removes the data of a process that was killed here.
        _allocate(segment, data, items)
        budget = _granted(asked, segment)
        os.ftruncate(segment.fd, data + (budget + items * (_ITEM_HEAD + 7) + 7 & ~7))
        header = (asked, budget, items, tag, 0, data)
        for i, value in enumerate(header, 1):
            segment.write(value.to_bytes(8, "little"), i * 8)
        segment.write(_MAGIC.to_bytes(8, "little"), 0)
        return
    for what, index, wanted in (("a budget of {} bytes", _W_ASKED, asked),
                                ("{} items", _W_ITEMS, items), ("the dataset {}", _W_TAG, tag)):
        if words[index] != wanted:
            raise ValueError(f"the cache '{name}' was created for {what.format(words[index])}, "
                             f"not for {what.format(wanted)}; use another name")


def _allocate(segment: _segment.Segment, size: int, items: int) -> None:
    """Allocates the memory of counters and table. They are written through the mapping, and that
    would kill the process if no memory were left."""
    try:
        os.posix_fallocate(segment.fd, 0, size)
    except OSError as error:
        raise OSError(f"cache: no memory for the table of {items} items "
                      f"({_room.amount(size)}): {error.strerror}") from error


def _granted(asked: int, segment: _segment.Segment) -> int:
    """Returns the budget, limited to nine tenths of the free memory. The rest is for others:
    batches between processes also use shared memory, and processes are killed if it is full."""
    free = _room.room(_segment.DIRECTORY if segment.path else None)
    most = free.left * 9 // 10
    if asked <= most:
        return asked
    amount = _room.amount
    warnings.warn(f"cache: a budget of {amount(asked)} is more than nine tenths of the "
                  f"{amount(free.left)} {free.what}; using {amount(most)} ({most} bytes) instead",
                  RuntimeWarning, stacklevel=5)
    return most
