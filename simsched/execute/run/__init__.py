"""Real runs of graphs: preparation, threads, measured results."""
