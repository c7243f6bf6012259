"""The pages of a pass, in memory or streamed from disk, and the tasks over them."""
