#!/bin/sh
# nightly.sh NAME TEST.svm [KEEP]: train on NAME.svm, and use the new model if it is not worse than the present one.
#
# NAME.mpu is a link to the model in use. The training writes NAME.candidate; a model that is worse stays there until the
# next one. One that is not becomes NAME-TIME.mpu, and TIME a line of NAME.accepted. Of these, the last KEEP (default 5)
# and the one in use are kept. Nothing else is ever deleted. NAME.svm may be compressed (NAME.svm.gz). TEST.svm has complete
# labels that no training sees. A new model is worse where the verdict of `mpu evaluate` says so: where the 95 % interval of
# the difference in micro-F1 lies below 0.
#
# cron has a PATH of its own. Where mpu is neither there nor in ~/.local/bin, the variable MPU names the program. WAIT is how
# many seconds to wait for another run (default 600).
#
# Exit status: 0 the new model is in use; 3 it is worse, and the present one stays; 75 another training is at work; any
# other: the training has failed, and the present model stays.
set -eu

name=$1 test=$2 keep=${3:-5} mpu=${MPU:-mpu} wait=${WAIT:-600} PATH=$PATH:${HOME:-}/.local/bin
fail() {
    echo "$1" >&2
    exit "$2"
}
case $name in -*) name=./$name ;; esac
case $keep in *[!0-9]*) fail "KEEP is a whole number, not $keep" 2 ;; esac
command -v "$mpu" > /dev/null || fail "there is no program $mpu; say by the variable MPU where it is" 127
[ -L "$name.mpu" ] || [ ! -e "$name.mpu" ] || fail "$name.mpu is no link; move it away" 1

exec 9>> "$name.lock"
flock -w "$wait" 9 || fail "another training of $name is at work" 75

# Delete what was accepted longest ago. What cannot be deleted stays in the list.
prune() {
    touch "$name.accepted"
    {
        head -n "-$keep" "$name.accepted" | grep -x '[0-9]\{8\}T[0-9]\{6\}' | while read -r time; do
            [ "${name##*/}-$time.mpu" != "$(readlink "$name.mpu")" ] && rm -r "$name-$time.mpu" || echo "$time"
        done
        tail -n "$keep" "$name.accepted"
    } > "$name.accepted.$$"
    mv "$name.accepted.$$" "$name.accepted"
}

data=$name.svm
for suffix in .gz .bz2 .xz; do
    [ -e "$data" ] || [ ! -e "$name.svm$suffix" ] || data=$name.svm$suffix
done
"$mpu" train "$data" -o "$name.candidate" --wait "$wait" --quiet --history "$name.history"

if [ -e "$name.mpu" ]; then
    compared=$("$mpu" evaluate "$test" "$name.mpu" "$name.candidate" --metrics micro_f1 --json)
    worse=$(printf %s "$compared" | python3 -c '
import json, sys
print(json.load(sys.stdin)["compared"][0]["differences"]["micro_f1"]["high"] < 0)')
    if [ "$worse" = True ]; then
        prune
        echo "$name.candidate is worse than $(readlink "$name.mpu"), which stays" >&2
        exit 3
    fi
fi

# A rename replaces the link at once: who reads NAME.mpu gets one model or the other.
time=$(date -u +%Y%m%dT%H%M%S)
mv -T "$name.candidate" "$name-$time.mpu"
echo "$time" >> "$name.accepted"
ln -sT -- "${name##*/}-$time.mpu" "$name.link.$$"
mv -T "$name.link.$$" "$name.mpu"
prune
