"""Measurements of the host: streams, products by size, cache lines, teams and clocks, as a machine file."""
