"""Published systems: what their papers say beside what is simulated."""
