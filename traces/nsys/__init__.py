"""SQLite exports of Nsight Systems."""
