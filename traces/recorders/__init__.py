"""Scripts that record runs of one's own models in a form that simsched reads."""
