"""What people decide about labels: the files of their decisions, and the page on which they decide."""
