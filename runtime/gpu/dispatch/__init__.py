"""Full passes whose pages are divided between the GPU and the CPU, which run at the same time, as in Garaph."""
