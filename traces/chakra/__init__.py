"""Chakra execution traces: protobuf streams, and PyTorch execution traces linked with times."""
