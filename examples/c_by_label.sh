#!/bin/sh
# c_by_label.sh: the label frequency of each label with its interval, by the annotations alone and by a review.
#
# Run it in a copy of this project. People's part is played by data/review_by_truth.py, which knows the complete labels.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

mpu corrupt "$here/data/digits-train.svm" "$work/noisy.svm" --missing-rate 0.5 --seed 1 --quiet

echo 'By the annotations alone:'
mpu estimate-c "$work/noisy.svm" --per-label --quiet --labels "$here/data/digits.labels"

echo
echo 'By 200 instances, drawn at random and completely reviewed:'
mpu suggest "$work/noisy.svm" --top 1 -o "$work/missing.tsv" --quiet
python3 "$here/data/review_by_truth.py" "$here/data/digits-train.svm" "$work/missing.tsv" --sample 200 --suggestions 0 \
    > "$work/checked.tsv"
mpu estimate-c "$work/noisy.svm" --reviewed "$work/checked.tsv" --per-label --quiet --labels "$here/data/digits.labels"
