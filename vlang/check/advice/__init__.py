"""What to propose in messages: texts to write instead, which several rules of the checker share."""
