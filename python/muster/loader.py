"""A loop over batches that stops between two batches when the lease ends, and can be resumed."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import signal
import sys
import time
from multiprocessing import forkserver, resource_tracker
from typing import (Any, Callable, Dict, Generic, Iterable, Iterator, Mapping, Optional, Sized,
                    TypeVar, cast)

from .lease import apart, should_stop, watch
from .progress import report

T = TypeVar("T")
_NOTHING: Any = object()
_PRELOADED = "muster._forkserver"


@contextlib.contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Restores the random states of random, numpy and torch afterwards, if they are imported."""
    numpy, torch = (cast(Any, sys.modules.get(name)) for name in ("numpy", "torch"))
    plain = random.getstate()
    arrays = numpy.random.get_state() if hasattr(numpy, "random") else None
    tensors = torch.get_rng_state() if hasattr(torch, "get_rng_state") else None
    try:
        yield
    finally:
        random.setstate(plain)
        if arrays is not None:
            numpy.random.set_state(arrays)
        if tensors is not None:
            torch.set_rng_state(tensors)


def _ready_for_workers(context: Any) -> None:
    """Starts the helper processes that multiprocessing needs for spawned workers."""
    if isinstance(context, str) or context is None:
        context = multiprocessing.get_context(context)
    method = context.get_start_method()
    if method == "fork":
        return
    # Starting the tracker unblocks SIGTERM, so it must precede the block of SIGTERM for workers.
    resource_tracker.ensure_running()
    if method == "forkserver":
        # Its children inherit its process group, so it must leave ours. If it cannot import the
        # module, it keeps SIGTERM blocked, as it is while the workers are created.
        others = getattr(forkserver, "_forkserver")._preload_modules
        if _PRELOADED not in others:
            multiprocessing.set_forkserver_preload([_PRELOADED, *others])


class _Apart:
    """The worker_init_fn of a DataLoader. It is a class because it may be pickled."""

    def __init__(self, then: Optional[Callable[[int], None]]) -> None:
        self.then = then

    def __call__(self, worker: int) -> None:
        apart()
        if self.then is not None:
            self.then(worker)


class Skipping(Generic[T]):
    """A batch sampler that a `Loader` can resume without loading the skipped batches.

        DataLoader(dataset, batch_sampler=muster.Skipping(BatchSampler(sampler, 32, False)))

    Workers do not draw the random numbers of skipped batches. Derive random numbers from a sample's
    index and the epoch instead.
    """

    def __init__(self, batches: Iterable[T]) -> None:
        self.batches = batches
        self.skip = 0  # Batches to skip in the next iteration.

    def __iter__(self) -> Iterator[T]:
        skip, self.skip = self.skip, 0
        for number, batch in enumerate(self.batches):
            if number >= skip:
                yield batch

    def __len__(self) -> int:
        return len(cast(Sized, self.batches))

    def set_epoch(self, epoch: int) -> None:
        for part in (self.batches, getattr(self.batches, "sampler", None)):
            if hasattr(part, "set_epoch"):
                cast(Any, part).set_epoch(epoch)


class Loader(Generic[T]):
    """Iterates over `iterable`, such as a list or a DataLoader, once per epoch, and reports
    progress. Ends the loop between two batches after SIGTERM, or when a newer lease has claimed the
    checkpoint.

    `state` is the result of `state()` from the checkpoint. The first loop then starts after the
    batches that were finished. They are loaded and dropped, so that the remaining batches are the
    same as without a stop, unless the batch sampler is a `Skipping` or the iterable has a method
    `skip(n)`.

    `epoch` counts from 0. `position` is the number of batches handed out in the epoch, `step` the
    number in all epochs. Save a checkpoint inside the loop only after the step on the batch.

    `total` is the number of steps of the whole job, if `epochs()` cannot determine it. Progress is
    reported every `report_every` seconds. `agree` makes several ranks stop at the same step. It is
    called on every rank before every `agree_every`th batch with whether this rank would stop, and
    returns whether all ranks must stop.
    """

    def __init__(self, iterable: Iterable[T], state: Optional[Mapping[str, int]] = None, *,
                 total: Optional[int] = None, report_every: float = 1.0,
                 agree: Optional[Callable[[bool], bool]] = None, agree_every: int = 1) -> None:
        if agree_every < 1:
            raise ValueError(f"agree_every is {agree_every}; it must be 1 or more")
        watch()
        self.iterable = iterable
        self.epoch = self._from(state, "epoch")
        self.position = self._from(state, "position")
        self.step = self._from(state, "step")
        self.total = total
        self.stopped = False  # The lease ended; the next lease continues.
        self._agree, self._agree_every, self._asks = agree, agree_every, 0
        self._report_every, self._reported = report_every, 0.0
        self._loss: Any = None

    @staticmethod
    def _from(state: Optional[Mapping[str, int]], name: str) -> int:
        if state is None:
            return 0
        value = state.get(name)
        if not isinstance(value, int) or value < 0:
            raise ValueError(f"state: '{name}' is {value!r}; pass the result of Loader.state() "
                             "from the checkpoint")
        return value

    def state(self) -> Dict[str, int]:
        """Returns the position of the loop as plain numbers, for the checkpoint."""
        return {"epoch": self.epoch, "position": self.position, "step": self.step}

    def epochs(self, count: int) -> Iterator[int]:
        """Yields the remaining epochs below `count`, until the lease ends."""
        if self.total is None:
            with contextlib.suppress(TypeError):  # Some iterables have no length.
                self.total = count * len(self)
        while self.epoch < count and not self.stopped:
            epoch = self.epoch
            yield epoch
            if self.epoch == epoch and not self.stopped:  # The body left its loop early.
                self.set_epoch(epoch + 1)

    def set_epoch(self, epoch: int, skip: Optional[int] = None) -> None:
        """Makes the next loop iterate over this epoch, without its first `skip` batches. The
        default is to skip the finished batches if this is the current epoch, otherwise none. Does
        nothing after the lease ended, so that the next lease resumes at the right position."""
        if self.stopped or (skip is None and epoch == self.epoch):
            return
        self.epoch, self.position = epoch, skip or 0

    def report(self, loss: Any) -> None:
        """Sets the loss for the next report. A tensor is not read before that."""
        self._loss = loss

    def __len__(self) -> int:
        return len(cast(Sized, self.iterable))

    def __iter__(self) -> Iterator[T]:
        self._tell_epoch()
        batches = self._begin() if self.position == 0 else self._begin_within()
        try:
            while not self._stops():
                try:
                    batch = next(batches)
                except StopIteration:
                    self.set_epoch(self.epoch + 1)
                    break
                self.position += 1
                self.step += 1
                yield batch
                self._tell(time.monotonic() - self._reported >= self._report_every)
        finally:
            self._tell(True)
            del batches  # A DataLoader ends its workers.

    # ---- the iterable

    def _parts(self) -> Iterator[Any]:
        yield self.iterable
        for name in ("batch_sampler", "sampler"):
            yield getattr(self.iterable, name, None)

    def _tell_epoch(self) -> None:
        for part in self._parts():
            if hasattr(part, "set_epoch"):
                part.set_epoch(self.epoch)

    def _begin_within(self) -> Iterator[T]:
        """Returns an iterator after the finished batches. The checkpoint contains the random state
        after these batches, so drawing them again must not change it."""
        with _same_random_numbers():
            sampler = getattr(self.iterable, "batch_sampler", None)
            if isinstance(sampler, Skipping):
                sampler.skip = self.position
                return self._begin()
            if callable(getattr(self.iterable, "skip", None)):
                cast(Any, self.iterable).skip(self.position)
                return self._begin()
            batches = self._begin()
            for _ in range(self.position):
                if self._stops() or next(batches, _NOTHING) is _NOTHING:
                    break
            return batches

    def _begin(self) -> Iterator[T]:
        loader = cast(Any, self.iterable)
        if not getattr(loader, "num_workers", 0) or not hasattr(loader, "worker_init_fn"):
            return iter(self.iterable)
        # SIGTERM goes to the whole process group. If it killed workers, the current step would
        # fail. So the workers leave the group, and SIGTERM is blocked until they have left it.
        if not isinstance(loader.worker_init_fn, _Apart):
            loader.worker_init_fn = _Apart(loader.worker_init_fn)
        _ready_for_workers(getattr(loader, "multiprocessing_context", None))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        try:
            return iter(self.iterable)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    # ---- the lease

    def _stops(self) -> bool:
        if self.stopped:
            return True
        if self._agree is None:
            self.stopped = should_stop()
        else:
            self._asks += 1
            if self._asks % self._agree_every == 0:
                self.stopped = bool(self._agree(should_stop()))
        return self.stopped

    def _tell(self, due: bool) -> None:
        if not due:
            return
        self._reported = time.monotonic()
        report(step=self.step, epoch=self.epoch, loss=self._loss, total=self.total)
