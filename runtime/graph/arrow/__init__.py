"""Reads Arrow tables (data frames in memory, Parquet and Arrow files) and converts their columns to NumPy arrays."""
