"""Class similarity, which judges a kernel before anything is trained."""
