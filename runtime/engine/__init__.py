"""The device-neutral engine: the loop over supersteps, and the protocols of machines."""
