"""Formats that task graphs are read from and written to: one file per format, with its reader and writer."""
