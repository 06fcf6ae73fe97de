"""Dask: task streams, with the dependences of their graph."""
