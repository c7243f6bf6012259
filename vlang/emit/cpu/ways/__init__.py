"""The kernel text of the ways of running a loop on a CPU."""
