"""The cross-check: measured and simulated schedules side by side, with errors by task and source."""
