"""Full passes and passes over lists of vertices on the CPU, and their costs."""
