"""Names of labels and ids of instances, which people read and write instead of numbers.

Only this package handles the format and location of files of names, and how a label is written by name so that it is
read back as the same label. Everything else computes with numbers.
"""
