"""swTVM: networks compiled for the core groups of Sunway."""
