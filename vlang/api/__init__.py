"""Programs as Python objects: compile, bind, run, resume, explain."""
