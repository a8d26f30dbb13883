"""Ranges of the numbers that options and files give, where 0 or infinity would be too far to compute with."""

# Of the label frequency c: 1/c times a number of labels is finite in 64 bits.
LEAST_FREQUENCY = 1e-300
# Of what depends on the scale of the features, as C and gamma do: within 32 bits, with room for a product.
LEAST_POSITIVE, LARGEST_POSITIVE = 1e-30, 1e30
# Of weights that do not.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-6, 1e6
# Of counts, so many that they stand for all.
MOST_LEVELS = 100
MOST_EPOCHS = 10**6
MOST_INSTANCES = 10**12
MOST_BYTES = 10**18
