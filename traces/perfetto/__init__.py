"""Perfetto traces (protobuf)."""
