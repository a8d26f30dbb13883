"""How good predicted label sets and scores are, against complete and incomplete labels."""
