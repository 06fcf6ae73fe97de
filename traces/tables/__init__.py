"""Tables of tasks and edges, as CSV and Parquet."""
