"""Work of tasks by kind and shape."""
