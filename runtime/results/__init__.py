"""Results in the user's ids: tables, columns, files."""
