"""For jobs that Muster runs: three lines make a training script preemptible and resumable.

    saved = muster.resume("run.pt", torch.load)             # None at the first start
    loader = muster.Loader(data, saved and saved["at"])     # stops between batches
    for epoch in loader.epochs(90):
        for images, labels in loader:
            ...
        with muster.checkpoint("run.pt") as file:           # replaces run.pt atomically
            torch.save({"model": model.state_dict(), "at": loader.state()}, file)

Outside Muster, the same script runs as it would without this library: it reports nothing and does
not check for leases.
"""

from .checkpoint import StaleLease, checkpoint, claim, resume
from .client import Client, MusterError
from .lease import (Lease, apart, current_lease, local_rank, rank, request_stop, should_stop, watch,
                    world_size)
from .loader import Loader, Skipping
from .progress import report

__version__ = "0.1.0"

__all__ = [
    "Client", "Lease", "Loader", "MusterError", "Skipping", "StaleLease", "apart", "checkpoint",
    "claim", "current_lease", "local_rank", "rank", "report", "request_stop", "resume",
    "should_stop", "watch", "world_size",
]
