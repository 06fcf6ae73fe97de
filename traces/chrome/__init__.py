"""Chrome traces (Trace Event Format)."""
