"""The measured tables, and what the models say of each of their rows."""
