"""Ranges of numbers in options and files."""

# Of the label frequency c: 1/c times a number of labels is finite in 64 bits.
LEAST_FREQUENCY = 1e-300
# Of numbers that depend on the scale of the features, such as C and gamma: within 32 bits, with room for a product.
LEAST_POSITIVE, LARGEST_POSITIVE = 1e-30, 1e30
# Of other weights.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-6, 1e6
# Of counts: more than anyone needs.
MOST_LEVELS = 100
MOST_EPOCHS = 10**6
MOST_INSTANCES = 10**12
MOST_BYTES = 10**18


def whole(text: str, most: int) -> int | None:
    """Return the number from 0 to `most` that digits stand for, however many of them; None for any other text."""
    digits = text.lstrip("0") or "0"
    if not text or not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(most)):
        return None
    return number if (number := int(digits)) <= most else None
