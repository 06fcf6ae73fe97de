"""Graphi: critical-path-first scheduling on Knights Landing."""
