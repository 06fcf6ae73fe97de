"""Kernels of real runs: the kernel that represents each kind and shape, and its operands."""
