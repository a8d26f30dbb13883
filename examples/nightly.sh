#!/bin/sh
# nightly.sh NAME TEST.svm [KEEP]: train on NAME.svm, and use the new model if it is not worse than the present one.
#
# NAME.mpu is a link to the model in use. Models are kept as NAME-TIME.mpu: the last KEEP of them (default 5), and the one
# in use. TEST.svm has complete labels that no training sees. A new model is worse where the verdict of `mpu evaluate` says
# so: where the 95 % interval of the difference in micro-F1 lies below 0.
#
# Exit status: 0 the new model is in use; 3 it is worse, and the present one stays; 75 another training is at work; any
# other: the training has failed, and the present model stays.
set -eu

name=$1 test=$2 keep=${3:-5}
new=$name-$(date -u +%Y%m%dT%H%M%S).mpu

mpu train "$name.svm" -o "$new" --wait 600 --quiet --history "$name.history"

if [ -e "$name.mpu" ] && ! mpu evaluate "$test" "$name.mpu" "$new" --metrics micro_f1 --json | python3 -c '
import json, sys
difference = json.load(sys.stdin)["compared"][0]["differences"]["micro_f1"]
sys.exit(difference["high"] < 0)'; then
    echo "$new is worse than $(readlink "$name.mpu"), which stays" >&2
    exit 3
fi

# A rename replaces the link at once: who reads NAME.mpu gets one model or the other.
ln -s "$new" "$name.link.$$"
mv -T "$name.link.$$" "$name.mpu"

ls -d "$name"-*T*.mpu | sort | head -n "-$keep" | while read -r old; do
    [ "$old" = "$(readlink "$name.mpu")" ] || rm -r "$old"
done
