"""Scheduling policies, one file each: the idea, its cost, its paper."""
