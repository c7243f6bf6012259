"""What the ways of running a loop on a CPU need in the kernel text."""
