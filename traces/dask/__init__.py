"""Dask: task streams, with the dependencies of their graph."""
