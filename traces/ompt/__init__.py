"""OpenMP tasks, as written by a tool on the OMPT interface."""
