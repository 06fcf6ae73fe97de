"""The planner of local device memory (LDM) for a core group of SW26010, after swTVM (Sec. 5)."""
