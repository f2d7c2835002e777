"""Class similarity, which judges a kernel without training a machine."""
