"""Edge lists made from arrays or from scanned text: consecutive numbers for ids, and arrays that grow."""
