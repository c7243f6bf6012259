"""Writers that both targets share."""
