"""GraphML, read and written through networkx."""
