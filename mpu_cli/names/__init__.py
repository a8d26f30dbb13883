"""Names of labels and ids of instances, which people read and write in place of numbers.

Only this package knows how files of names are read, where they are, and how a label is written by name so that it reads
back as the same label. Everything else computes with numbers.
"""
