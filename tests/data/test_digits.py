"""The digits files: byte for byte what the script writes, and every label right."""

import math

import pytest
from sklearn.datasets import load_digits, load_svmlight_file

# The properties again, by arithmetic; those of shape by which printed digits have them.
HOLDS = {
    "even": lambda digit: digit % 2 == 0,
    "prime": lambda digit: digit > 1 and all(digit % other for other in range(2, digit)),
    "at-least-five": lambda digit: digit >= 5,
    "multiple-of-three": lambda digit: digit % 3 == 0,
    "square": lambda digit: math.isqrt(digit) ** 2 == digit,
    "power-of-two": lambda digit: digit > 0 and math.log2(digit).is_integer(),
    "closed-loop": lambda digit: str(digit) in "0689",
    "straight-stroke": lambda digit: str(digit) in "12457",
}
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", *HOLDS]


def names_of(digit: int) -> set[str]:
    return {NAMES[digit]} | {name for name, holds in HOLDS.items() if holds(digit)}


def test_the_script_writes_the_same_bytes(script, digits, tmp_path):
    script("make_digits").write_digits(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits-test.svm", "digits-train.svm", "digits.labels"]
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (digits[0].parent / path.name).read_bytes()


@pytest.mark.parametrize("part, rows", [(0, slice(0, 1157)), (1, slice(1157, 1797))], ids=["train", "test"])
def test_labels_and_pixels_are_those_of_the_images(digits, part, rows):
    names = (digits[0].parent / "digits.labels").read_text().splitlines()
    assert names == NAMES
    pixels, label_sets = load_svmlight_file(digits[part], multilabel=True, zero_based=False, n_features=64)
    images, classes = load_digits(return_X_y=True)
    assert (pixels.toarray() * 16 == images[rows]).all()
    for digit, labels in zip(classes[rows], label_sets, strict=True):
        assert {names[int(label) - 1] for label in labels} == names_of(int(digit))
