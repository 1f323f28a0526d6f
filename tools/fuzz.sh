#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD SECONDS [TARGET ...]: builds the fuzzers and runs each for SECONDS from fuzz/corpus. What they find goes to
# BUILD/found/TARGET, inputs that failed to BUILD/failed/TARGET; a summary to standard output. Then, for the repository:
#     BUILD/fuzz_TARGET -merge=1 fuzz/corpus/TARGET BUILD/found/TARGET
# Exit status 1 if an input failed.
set -e
build=$1 seconds=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- $(ls "$root/fuzz/corpus")
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DSAMEBITS_SANITIZE=fuzzer,address,undefined >/dev/null
ninja -C "$build" $(printf 'fuzz_%s ' "$@")
status=0
for target; do
    length=4096
    [ "$target" = checkpoint ] && length=20000
    mkdir -p "$build/found/$target" "$build/failed/$target"
    "$build/fuzz_$target" "$build/found/$target" "$root/fuzz/corpus/$target" -dict="$root/fuzz/words.dict" -max_len=$length \
        -timeout=20 -rss_limit_mb=2500 -max_total_time="$seconds" -print_final_stats=1 \
        -artifact_prefix="$build/failed/$target/" >"$build/fuzz-$target.log" 2>&1 || status=1
    [ -z "$(ls "$build/failed/$target")" ] || status=1
    echo "$target: $(sed -n 's/stat::number_of_executed_units: *//p' "$build/fuzz-$target.log") executions," \
        "$(sed -n 's/.*\(cov: [0-9]* ft: [0-9]*\).*/\1/p' "$build/fuzz-$target.log" | tail -1)," \
        "$(ls "$build/failed/$target" | wc -l) failed"
done
exit $status
