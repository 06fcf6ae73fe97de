"""Where each claim of accuracy comes from."""
