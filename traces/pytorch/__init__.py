"""PyTorch: Kineto traces and execution traces."""
