"""The command line, a thin layer: one file for one or a few commands."""
