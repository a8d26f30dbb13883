"""Names of labels and ids of instances, which people read and write instead of numbers; other code uses numbers."""
