"""What every part of the package uses: checks, memory, threads, warnings."""
