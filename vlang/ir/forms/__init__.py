"""The forms of the IR, and views of forms that rules and lowering share."""
