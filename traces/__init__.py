"""Formats that task graphs are read from and written to: one file a format, with its reader and writer."""
