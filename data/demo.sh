#!/bin/sh
# The main job on the digits: remove 60 % of the training labels, learn from what is left, and compare with the complete
# labels of the test file; the same with missing labels taken for negatives; then find the labels that are missing, have
# some of them reviewed, and learn from the review.
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
    train demo/train.svm -o demo/naive.mpu --c 1 --levels 1 --threshold 0.5
step 'Predict' \
    predict demo/naive.mpu data/digits-test.svm -o demo/naive.txt
step 'Compare' \
    evaluate data/digits-test.svm demo/naive.txt

step 'Which labels are missing? The 1,000 most probable' \
    suggest demo/train.svm --top 1000 -o demo/missing.tsv
printf '\n== Review 100 instances drawn at random, and the first 200 suggestions, by a script that knows the truth\n'
"${PYTHON:-python3}" data/review_by_truth.py data/digits-train.svm demo/missing.tsv > demo/checked.tsv
step 'Learn from the review too' \
    train demo/train.svm --reviewed demo/checked.tsv -o demo/reviewed.mpu
step 'Predict' \
    predict demo/reviewed.mpu data/digits-test.svm -o demo/reviewed.txt
step 'Compare' \
    evaluate data/digits-test.svm demo/reviewed.txt

printf '\n== micro-F1 of the test images\n'
for run in naive predictions reviewed; do
    printf '%-12s %s\n' "$run" "$("${MPU:-mpu}" evaluate data/digits-test.svm "demo/$run.txt" --metrics micro_f1 | tail -n 1)"
done
