"""The arguments of a call: values of parameters and fields, and options."""
