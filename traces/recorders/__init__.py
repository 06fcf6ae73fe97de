"""Scripts that record runs of one's own models in a form readable by simsched."""
