"""A page for people about what is missing from a file."""
