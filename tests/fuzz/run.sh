#!/bin/sh
# run.sh BUILD SECONDS TARGET... - runs the fuzz targets one after the other, SECONDS together, on the programs of the project as
# first corpus; the corpus grows in BUILD/corpus-TARGET. Ends with `N passed, N failed`, one for each target.
build=$1 seconds=$2
shift 2
each=$((seconds / $#)) passed=0 failed=0
for target; do
    corpus=$build/corpus-$target
    mkdir -p "$corpus"
    for program in examples/*.net examples/*/*.net tests/error/*.net tests/ast/*.net tests/cases/*.net; do
        [ ! -e "$program" ] || cp "$program" "$corpus/seed-$(echo "$program" | tr / -)"
    done
    if "$build/fuzz/$target" -max_total_time="$each" -max_len=20000 -timeout=10 -rss_limit_mb=2000 -dict=tests/fuzz/net.dict \
        -artifact_prefix="$build/finding-$target-" -print_final_stats=1 "$corpus" >"$build/fuzz-$target.log" 2>&1; then
        passed=$((passed + 1))
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz-$target.log") runs in $each s"
    else
        failed=$((failed + 1))
        grep -v '^#' "$build/fuzz-$target.log" | tail -n 40
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
