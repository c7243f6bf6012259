"""Plain threads over disjoint ranges, and work that an interrupt cannot leave half done."""
