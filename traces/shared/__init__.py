"""Code that several readers and writers of traces share."""
