"""Logs of ninja builds."""
