"""OTF2 archives, as Score-P, APEX (HPX) and other recorders write them."""
