"""Reading a table from the user: its file, its columns, its classes."""
