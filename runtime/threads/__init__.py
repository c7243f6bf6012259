"""Plain threads over disjoint ranges, and tasks that an interrupt cannot leave half done."""
