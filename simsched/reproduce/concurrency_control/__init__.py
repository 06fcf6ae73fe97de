"""Concurrency control: thread counts per op in TensorFlow on Knights Landing."""
