"""Kernels of real runs: which one stands for which kind and shape, and its operands."""
