"""TensorFlow: run metadata (binary and text) and the timelines made from it."""
