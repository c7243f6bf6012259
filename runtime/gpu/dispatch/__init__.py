"""Full passes of which the GPU and the CPU each run some pages at the same time, as in Garaph."""
