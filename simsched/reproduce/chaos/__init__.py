"""CHAOS: data-parallel training of small convolutional networks on a Xeon Phi."""
