"""Write digits-train.svm, digits-test.svm and digits.labels from the images that come with scikit-learn.

The files are the same, byte for byte, on every machine: pixels are integers and are written as exact decimals.
"""

from pathlib import Path

import click

# Names of the properties and the digits that have them; the shapes are those of the printed digits, 4 open at the top.
PROPERTIES = {
    "even": {0, 2, 4, 6, 8},
    "prime": {2, 3, 5, 7},
    "at-least-five": {5, 6, 7, 8, 9},
    "multiple-of-three": {0, 3, 6, 9},
    "square": {0, 1, 4, 9},
    "power-of-two": {1, 2, 4, 8},
    "closed-loop": {0, 6, 8, 9},
    "straight-stroke": {1, 2, 4, 5, 7},
}
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
NAMES = DIGITS + list(PROPERTIES)

# Images come form after form, and each form, filled in by one hand, asks for the same digits in the same order. One
# starts at this image: the test file is from other forms than the training file.
FIRST_TEST_IMAGE = 1157

BLACK = 16  # the largest pixel value


def labels_of(digit: int) -> list[int]:
    """Label ids, from 1 and ascending, of an image of `digit`: the digit itself, then its properties."""
    properties = [len(DIGITS) + i for i, digits in enumerate(PROPERTIES.values(), start=1) if digit in digits]
    return [digit + 1, *properties]


def svm_line(pixels: list[int], digit: int) -> str:
    """One image in LIBSVM format, pixels scaled to (0, 1] and numbered from 1, white ones left out.

    Sixteenths have at most four decimals, so ``:g`` writes them exactly.
    """
    labels = ",".join(map(str, labels_of(digit)))
    features = " ".join(f"{index}:{value / BLACK:g}" for index, value in enumerate(pixels, start=1) if value)
    return f"{labels} {features}\n"


def write_digits(folder: Path) -> None:
    """Write the three files to `folder`."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    lines = [
        svm_line(pixels, digit) for pixels, digit in zip(images.astype(int).tolist(), digits.tolist(), strict=True)
    ]
    contents = {
        "digits-train.svm": lines[:FIRST_TEST_IMAGE],
        "digits-test.svm": lines[FIRST_TEST_IMAGE:],
        "digits.labels": [f"{name}\n" for name in NAMES],
    }
    for name, content in contents.items():
        (folder / name).write_bytes("".join(content).encode("ascii"))


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path(__file__).parent)
def main(folder: Path) -> None:
    """Write the three files to FOLDER (by default, the folder of this script)."""
    write_digits(folder)


if __name__ == "__main__":
    main()
