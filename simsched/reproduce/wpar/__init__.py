"""W-Par: wavefront parallelism of recurrent networks."""
