"""Which labels are missing, and how many."""
