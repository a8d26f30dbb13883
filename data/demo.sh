#!/bin/sh
# The main job on the digits: remove 60 % of the training labels, learn from what is left, and compare with the complete
# labels of the test file; then the same with missing labels taken for negatives.
set -eu
cd "$(dirname "$0")/.."
mkdir -p demo

# step WHAT COMMAND [ARGUMENT...]: say what happens, show the command, run it.
step() {
    printf '\n== %s\n$ mpu' "$1"
    shift
    printf ' %s' "$@"
    echo
    "${MPU:-mpu}" "$@"
}

step 'Remove 60 % of the labels' \
    corrupt data/digits-train.svm demo/train.svm --missing-rate 0.6 --seed 1
step 'Estimate, from what is left, the share of labels that was kept: 0.4' \
    estimate-c demo/train.svm
step 'Train two levels; c, C and thresholds are chosen from the incomplete labels' \
    train demo/train.svm -o demo/digits.mpu --levels 2
step 'Predict the labels of the test images' \
    predict demo/digits.mpu data/digits-test.svm -o demo/predictions.txt
step 'Compare with their complete labels' \
    evaluate data/digits-test.svm demo/predictions.txt

step 'The same with missing labels taken for negatives: train' \
    train demo/train.svm -o demo/naive.mpu --method br
step 'Predict' \
    predict demo/naive.mpu data/digits-test.svm -o demo/naive.txt
step 'Compare' \
    evaluate data/digits-test.svm demo/naive.txt
