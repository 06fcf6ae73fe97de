"""What the host does by itself: streams, products by size, cache lines, teams and clocks, as a machine file."""
