#!/bin/sh
# plan.sh NETC MEASURE [PEER_RULES] - the offset planner against its marks, the best heights known and the rules of its peers.
#
# The instances are public (docs/planner.md says where they come from); DSA names the folder that holds them, ../shared/data/dsa
# beside the project otherwise. Without them three made problems are planned, so that the tables show something. EFFORT is that of
# the long runs (500000000). Times are CPU seconds of one run. A ratio is height / load; nothing can be below 1.
set -eu
netc=$1 measure=$2 rules=${3:-}
root=$(cd "$(dirname "$0")/.." && pwd)
DSA=${DSA:-$root/../shared/data/dsa}
EFFORT=${EFFORT:-500000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

made() {        # made N STEPS SEED: a problem of N buffers, by a linear congruential generator
    awk -v n="$1" -v steps="$2" -v x="$3" 'function below(m) { x = (x * 16807) % 2147483647; return x % m }
        BEGIN { print "id,lower,upper,size"
                for (i = 0; i < n; i++) { t = below(steps); print i "," t "," t + 1 + below(1 + int(steps / 20)) "," 512 * (1 + below(200)) } }'
}

field() {       # field NAME: its value in the last line netc wrote
    sed -n '$s/.*\b'"$1"'=\("[^"]*"\|[^ ]*\).*/\1/p' "$work/err" | tr -d '"'
}

run() {         # run FILE OPTION...: $seconds and $mb, the rest by field; a plan that does not fit is no failure
    set -- $(ERR="$work/err" "$measure" 1 sh -c '"$@" 2>"$ERR"; true' sh "$netc" plan "$@" -o "$work/out.csv")
    seconds=$(awk -v ms="$3" 'BEGIN { printf "%.3f", ms / 1000 }') mb=$2
}

best() {        # best FILE: the lowest height known, or -
    awk -F, -v f="${1#"$DSA"/}" '$1 == f { print $4; found = 1 } END { if (!found) print "-" }' "$DSA/best_known/best_known.csv" 2>/dev/null || echo -
}

decide() {      # the capacity in the file's name
    printf '\n%-26s %10s %9s %8s  %s\n' 'under a capacity' capacity nodes seconds verdict
    for f in "$@"; do
        capacity=${f%.csv}
        capacity=${capacity##*.}
        run "$f" --capacity="$capacity"
        printf '%-26s %10s %9s %8s  %s\n' "$(basename "$f" .csv)" "$capacity" "$(field nodes)" "$seconds" "$(field verdict)"
    done
}

minimise() {    # minimise TITLE OPTION FILE...
    printf '\n%-26s %13s %13s %13s %8s %8s %7s  %s\n' "$1" load height 'best known' ratio seconds MB verdict
    options=$2
    shift 2
    for f in "$@"; do
        run "$f" $options
        awk -v f="$(basename "$f" .csv)" -v load="$(field live_peak)" -v h="$(field arena)" -v b="$(best "$f")" -v s="$seconds" -v mb="$mb" \
            -v v="$(field verdict)" 'BEGIN { printf "%-26s %13s %13s %13s %8.5f %8s %7s  %s\n", f, load, h, b, load ? h / load : 1, s, mb, v }'
    done
}

peers() {       # peers TITLE FILE...: ratio to the load of every rule and of netc, the geometric mean and the extremes
    [ -x "$rules" ] || return 0
    printf '\n%-40s %8s  %s\n' "$1" geomean 'least .. most'
    shift
    for f in "$@"; do
        run "$f"
        echo "load,$(field live_peak)"
        "$rules" "$f"
        echo "netc plan,$(field arena)"
    done | awk -F, '$1 == "load" { load = $2; next }
        load && $2 > 0 { r = $2 / load; if (!n[$1]++) order[++k] = $1; sum[$1] += log(r)
            if (!($1 in lo) || r < lo[$1]) lo[$1] = r
            if (r > hi[$1]) hi[$1] = r }
        END { for (i = 1; i <= k; i++) { m = order[i]; printf "%-40s %8.4f  %.4f .. %.4f\n", m, exp(sum[m] / n[m]), lo[m], hi[m] } }'
}

if [ ! -d "$DSA" ]; then
    echo "no instances in $DSA (set DSA to a folder that has them); made ones instead"
    made 200 100 1 >"$work/made200.csv"
    made 2000 1000 2 >"$work/made2000.csv"
    made 20000 20000 3 >"$work/made20000.csv"
    minimise 'made problems' '' "$work"/made*.csv
    peers 'made problems, ratio' "$work"/made*.csv
else
    challenging=$DSA/minimalloc/challenging
    decide "$challenging"/*.csv
    cp "$challenging"/D.*.csv "$work/D.1030144.csv"
    cp "$challenging"/J.*.csv "$work/J.1030144.csv"
    decide "$work"/?.1030144.csv
    minimise 'as low as can be' '' "$challenging"/*.csv
    minimise 'open ones, long' "--effort=$EFFORT" "$challenging"/[DJ].*.csv
    minimise 'larger traces' '' "$DSA"/idealloc/*/*.csv
    minimise 'our own graphs' '' "$DSA"/netc/*.csv
    peers 'A to K, ratio to the load' "$challenging"/*.csv
    peers 'larger traces, ratio' "$DSA"/idealloc/*/G_1.csv "$DSA"/idealloc/*/resnet50.csv
    peers 'our own graphs, ratio' "$DSA"/netc/*.csv
fi
[ ! -f "$root/bench/order.sh" ] || sh "$root/bench/order.sh" "$netc"
