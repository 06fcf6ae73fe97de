"""StarPU: the records of a run's tasks."""
