"""Tables of Arrow: frames in memory, Parquet and Arrow files; their columns as arrays of NumPy."""
