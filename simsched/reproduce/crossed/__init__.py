"""Policies of all published systems on the workloads of all of them."""
