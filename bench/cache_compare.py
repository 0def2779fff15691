#!/usr/bin/env python3
"""Compares the non-evicting cache of python/muster with an LRU cache of the same size.

    cache_compare.py                 bytes read from storage in shuffled epochs, both caches
    cache_compare.py --speed         items per second read from memory, by 1 and 4 processes

Creates files in a temporary directory and reads them. docs/how-to/cache.md contains the results.
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from muster.cache import Cache, Lru  # noqa: E402


def epochs_of(cache, paths, count, seed):
    """Returns the bytes read in each epoch. Each epoch has another order."""
    read, order = [], list(range(len(paths)))
    rng = random.Random(seed)
    for _ in range(count):
        rng.shuffle(order)
        before = cache.counters().read_bytes
        for i in order:
            cache.fetch(i, lambda: pathlib.Path(paths[i]).read_bytes())
        read.append(cache.counters().read_bytes - before)
    return read


def compare(files, size, parts, epochs, seed):
    """Prints a line per budget and cache. Returns {(part, cache): bytes of each epoch}."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{i:06}") for i in range(files)]
        for path in paths:
            pathlib.Path(path).write_bytes(os.urandom(size))
        print(f"{files} files of {size} bytes, {files * size / 1e6:.1f} MB; MB read in each epoch:")
        print("budget      cache   " + "".join(f"{f'epoch {e + 1}':>10}" for e in range(epochs)))
        for part in parts:
            budget = int(files * part) * size
            for name, cache in (("never", Cache(budget, items=files)), ("lru", Lru(budget))):
                read = epochs_of(cache, paths, epochs, seed)
                found[part, name] = read
                columns = "".join(f"{r / 1e6:10.3f}" for r in read)
                print(f"{budget / 1e6:7.1f} MB  {name:8}{columns}")
    return found


def hit(cache, seconds, barrier, rates):
    order = list(range(cache.items))
    random.shuffle(order)
    barrier.wait()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for i in order:
            cache.fetch(i, None)
        done += len(order)
    rates.put(done / (time.perf_counter() - began))


def speed(seconds):
    print(f"items per second read from memory ({os.cpu_count()} cores)")
    for size, items in ((1000, 20000), (100_000, 1000)):
        cache = Cache(size * items, items=items)
        for i in range(items):
            cache.put(i, bytes(size))
        for count in (1, 4):
            barrier, rates = multiprocessing.Barrier(count), multiprocessing.Queue()
            workers = [multiprocessing.Process(target=hit, args=(cache, seconds, barrier, rates))
                       for _ in range(count)]
            for worker in workers:
                worker.start()
            rate = sum(rates.get() for _ in workers)
            for worker in workers:
                worker.join()
            print(f"{size:7} bytes  {count} processes  {rate:10.0f}/s  "
                  f"{rate * size / 1e9:6.2f} GB/s")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--size", type=int, default=20_000, help="bytes per file")
    parser.add_argument("--parts", default="0.25,0.5,0.75",
                        help="budgets, as fractions of the dataset")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--seconds", type=float, default=2,
                        help="duration of each measurement of --speed")
    options = parser.parse_args(arguments)
    if options.speed:
        speed(options.seconds)
    else:
        parts = [float(part) for part in options.parts.split(",")]
        compare(options.files, options.size, parts, options.epochs, options.seed)


if __name__ == "__main__":
    main(sys.argv[1:])
