"""Wall times, side by side in one run."""
