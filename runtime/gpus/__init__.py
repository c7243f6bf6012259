"""A run on several GPUs of this host."""
