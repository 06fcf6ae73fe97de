"""What 95 % intervals hold: groups of measured values, each beside its interval."""
