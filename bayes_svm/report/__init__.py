"""The report of one fit: reading a table, its numbers, its charts, and how they are written down."""
