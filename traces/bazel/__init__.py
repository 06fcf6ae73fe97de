"""Profiles of Bazel builds."""
