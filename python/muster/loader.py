"""A loop over batches that ends at a safe point when the lease does, and knows where it was."""

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
    """Afterwards those of random, numpy and torch, if they are in use, go on as before."""
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
    """Starts what multiprocessing needs beside workers that are not forked from this process."""
    if isinstance(context, str) or context is None:
        context = multiprocessing.get_context(context)
    method = context.get_start_method()
    if method == "fork":
        return
    # Its start ends with SIGTERM let through, so it must not come while that is kept from workers.
    resource_tracker.ensure_running()
    if method == "forkserver":
        # All its children are born into its process group, so it is to leave ours. If it cannot
        # import that, it keeps SIGTERM blocked, as it is while the workers are made.
        others = getattr(forkserver, "_forkserver")._preload_modules
        if _PRELOADED not in others:
            multiprocessing.set_forkserver_preload([_PRELOADED, *others])


class _Apart:
    """A DataLoader's worker_init_fn. A class, since it may have to be pickled."""

    def __init__(self, then: Optional[Callable[[int], None]]) -> None:
        self.then = then

    def __call__(self, worker: int) -> None:
        apart()
        if self.then is not None:
            self.then(worker)


class Skipping(Generic[T]):
    """A batch sampler that a `Loader` can resume without loading what it passes over.

        DataLoader(dataset, batch_sampler=muster.Skipping(BatchSampler(sampler, 32, False)))

    Randomness that a worker draws batch by batch is not passed over with it; draw it from a
    sample's index and the epoch instead.
    """

    def __init__(self, batches: Iterable[T]) -> None:
        self.batches = batches
        self.skip = 0  # Batches to leave out the next time.

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
    """Iterates over `iterable`, a list, a DataLoader or the like, once an epoch; reports progress;
    and ends the loop between two batches when SIGTERM came or a newer lease has taken over.

    `state` is what `state()` returned when the checkpoint was saved: the first loop then begins
    after the batches that were done. Those are loaded and dropped, so that the rest is as it would
    have been, unless the batch sampler is a `Skipping`, or the iterable has a method `skip(n)`.

    `epoch` counts from 0. `position` is how many batches of it were handed out, `step` how many of
    all epochs. A checkpoint inside the loop therefore belongs after the step on the batch.

    `total` is how many steps the whole job takes, if `epochs()` cannot tell. A report goes out
    every `report_every` seconds. `agree` makes several ranks stop at the same step: called on
    every rank before every `agree_every`th batch with whether this rank would stop, it returns
    whether all do.
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
        self.stopped = False  # The lease ended; what is left is for the next one.
        self._agree, self._agree_every, self._asks = agree, agree_every, 0
        self._report_every, self._reported = report_every, 0.0
        self._loss: Any = None

    @staticmethod
    def _from(state: Optional[Mapping[str, int]], name: str) -> int:
        if state is None:
            return 0
        value = state.get(name)
        if not isinstance(value, int) or value < 0:
            raise ValueError(f"state: '{name}' is {value!r}; pass what Loader.state() returned "
                             "when the checkpoint was saved")
        return value

    def state(self) -> Dict[str, int]:
        """Where the loop is: plain numbers, to be saved in the checkpoint."""
        return {"epoch": self.epoch, "position": self.position, "step": self.step}

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs up to `count` that are left, and none after the lease ended."""
        if self.total is None:
            with contextlib.suppress(TypeError):  # Not every iterable knows its length.
                self.total = count * len(self)
        while self.epoch < count and not self.stopped:
            epoch = self.epoch
            yield epoch
            if self.epoch == epoch and not self.stopped:  # The body left its loop early.
                self.set_epoch(epoch + 1)

    def set_epoch(self, epoch: int, skip: Optional[int] = None) -> None:
        """The next loop is over this epoch, without its first `skip` batches; unless said, without
        those that were done, if it is the epoch at hand. After the lease ended it does nothing:
        where the next one goes on stays as it is."""
        if self.stopped or (skip is None and epoch == self.epoch):
            return
        self.epoch, self.position = epoch, skip or 0

    def report(self, loss: Any) -> None:
        """The loss to be told with the next report; a tensor is not read before."""
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
        """Behind the batches that were done. The checkpoint has the random numbers of after them,
        so that they are drawn again here must not show."""
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
        # SIGTERM goes to the whole process group. Workers that died of it would fail the step at
        # hand, so they leave the group, and until they have it is kept from them.
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
