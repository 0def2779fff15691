"""For multiprocessing's fork server, which imports this when it starts: see `Loader`."""

from .lease import apart

apart()
