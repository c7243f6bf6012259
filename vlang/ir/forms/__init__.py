"""The forms of the IR, and views of them that rules and lowering share."""
