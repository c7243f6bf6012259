"""The engine, which is independent of the device. The engine runs the steps of a plan, and defines the protocol of
machines.
"""
