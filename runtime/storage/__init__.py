"""Where arrays and files live: huge pages, page-locked memory, files written whole."""
