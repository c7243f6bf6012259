"""What a run says about its values: those that left their type, and the first failure in check mode."""
