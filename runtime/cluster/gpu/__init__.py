"""Ranks that run their passes on a GPU, and exchange values by NCCL or through host memory."""
