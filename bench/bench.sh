#!/bin/sh
# bench.sh NETC MEASURE - what the main line costs, against its marks: cold reports, least of several runs.
#
# The marks are bounds the project set itself; torchinfo's figures for ResNet-152 (18 s, 525 MB resident) are those of
# its own run of the same network. A ratio below 1.00 is better than the mark.
set -eu
netc=$1 measure=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

chain() {       # a net of $1 operators, one after the other
    printf 'net chain(x: f32[1, 64]) -> f32[1, 64] {\n    repeat %d { x = relu(x) }\n    return x\n}\n' "$1"
}

wide() {        # 10,000 operators with residuals and concatenations
    printf 'net wide(x: f32[1, 16, 8, 8]) -> f32[1, 16, 8, 8] {\n'
    printf '    repeat 1250 {\n        y = x |> conv2d(16, 3, padding=1) |> batch_norm |> relu\n'
    printf '        z = cat([x, y], dim=1) |> conv2d(16, 1)\n        x = relu(z + x)\n    }\n    return x\n}\n'
}

row() {         # name, mark in ms, mark in MB, runs, arguments of netc
    name=$1 ms=$2 mb=$3 runs=$4
    shift 4
    set -- "$name" "$ms" "$mb" $("$measure" "$runs" "$netc" "$@" || echo "failed failed")
    awk -v name="$1" -v ms="$2" -v mb="$3" -v got_ms="$4" -v got_mb="$5" 'BEGIN {
        if (got_ms == "failed") { printf "%-34s failed\n", name; exit }
        printf "%-34s %10.1f %10s %6.2f %10.1f %8s %6s\n", name, got_ms, ms, got_ms / ms, got_mb, mb == 0 ? "-" : mb,
               mb == 0 ? "-" : sprintf("%.2f", got_mb / mb) }'
}

chain 1000000 > "$work/chain.net"
chain 10000 > "$work/chain10k.net"
wide > "$work/wide.net"
printf '%-34s %10s %10s %6s %10s %8s %6s\n' 'report, cold' ms mark ratio MB mark ratio
row 'ResNet-152' 20 20 10 --report "$root/examples/resnet152.net"
row 'ResNet-152, json' 20 20 10 --report=json "$root/examples/resnet152.net"
row 'ResNet-152 against torchinfo' 18000 525 10 --report "$root/examples/resnet152.net"
row 'DenseNet-121' 20 20 10 --report "$root/examples/densenet121.net"
row 'chain of 10,000 operators' 1000 0 3 --report "$work/chain10k.net"
row '10,000 operators with branches' 1000 0 3 --report "$work/wide.net"
row 'chain of 1,000,000 operators' 60000 0 1 --report -n 20 "$work/chain.net"
