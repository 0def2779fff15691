"""Imported by multiprocessing's fork server when it starts; see `Loader`."""

from .lease import apart

apart()
