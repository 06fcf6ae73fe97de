"""What several readers and writers of traces have in common."""
