"""Workflows of Pegasus in XML (DAX)."""
