"""Memory and files: huge pages, page-locked memory, files written atomically."""
