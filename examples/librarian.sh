#!/bin/sh
# librarian.sh: a librarian's hour. A catalogue with subjects, many of which are missing, becomes a list of suggestions.
#
# Give it a table with the columns id, text and tags (subjects separated by semicolons): ./librarian.sh books.csv
set -eu
books=$1
name=${books%.csv}

mpu vectorize "$books" -o "$name.svm" --quiet              # texts become vectors, subjects become labels with names
mpu estimate-c "$name.svm" --quiet                         # which share of the true subjects is there?
mpu suggest "$name.svm" --top 100 -o "$name.missing.tsv" --quiet
mpu review "$name.svm" --suggestions "$name.missing.tsv" --text "$books" --text-field text -o "$name.html" --quiet

echo "Open $name.html in a browser, decide by keys, press Export, and train with what was decided:"
echo "    mpu train $name.svm --reviewed checked.tsv"
