"""OpenMP tasks, as a tool on the OMPT interface writes them down."""
