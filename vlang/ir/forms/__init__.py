"""The forms of the IR, and analyses of these forms that rules and lowering share."""
