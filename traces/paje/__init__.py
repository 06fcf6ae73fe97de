"""Paje: states of containers, in traces that define their own events."""
