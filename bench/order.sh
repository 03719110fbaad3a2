#!/bin/sh
# order.sh NETC [RANDWIRE] - what the order of the steps saves on randomly wired networks: 20 seeds of WS(32, 4, 0.75), level full,
# target c. "program" is the live peak of the same steps in program order, "arena" that of the plan.
#
# The mark: 20 % below program order in the mean.
set -eu
netc=$1 randwire=${2:-$(dirname "$1")/bench/randwire}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SEEDS=${SEEDS:-$(seq 1 20)}

number() {      # number KEY: the first number of that key in the report
    sed -n 's/^ *"'"$1"'": *\([0-9][0-9]*\).*/\1/p' "$work/report.json" | sed 1q
}

for seed in $SEEDS; do
    "$randwire" "$seed" > "$work/wired.net"
    "$netc" --target=c --savings --report=json "$work/wired.net" > "$work/report.json"
    saved=$(sed -n 's/.*"kind": "order".*"saved_bytes": \([0-9]*\).*/\1/p' "$work/report.json" | sed 1q)
    order=$(sed -n 's/^ *"order": "\([a-z]*\)".*/\1/p' "$work/report.json" | sed 1q)
    proven=$(sed -n 's/^ *"proven": \([a-z]*\).*/\1/p' "$work/report.json" | sed 1q)
    echo "$seed $(number arena_bytes) $(number live_peak_bytes) ${saved:-0} $order $(number order_states) $proven"
done | awk 'BEGIN { printf "%-18s %10s %10s %8s  %-8s %8s %s\n", "WS(32, 4, 0.75)", "program", "arena", "less", "order", "states", "proven" }
    {
        program = $3 + $4; less = 100 * (1 - $2 / program); sum += less; n++; proven += $7 == "true"
        printf "seed %-13d %10d %10d %6.1f %%  %-8s %8d %s\n", $1, program, $2, less, $5, $6, $7 == "true" ? "yes" : "no"
    }
    END { printf "%-18s %10s %10s %6.1f %%  mark 20 %%, %d of %d proven\n", "mean", "", "", sum / n, proven, n }'
