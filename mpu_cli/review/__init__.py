"""Review of labels by people: files of their decisions, and the page on which they decide."""
