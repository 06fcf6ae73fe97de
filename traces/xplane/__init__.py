"""Profiles of XLA (XSpace), as JAX and TensorFlow write them."""
