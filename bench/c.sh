#!/bin/sh
# c.sh NETC FOLDER [NAME...] - generated C beside ONNX Runtime, one thread: the median of RUNS runs (5), CPU time, in ms.
#
# Programs are compiled with $CC $CFLAGS (cc -O3 -march=native), weights made from a seed. The peer runs the files of the same
# names in $ZOO (../shared/data/onnx/zoo beside the project), from a virtual environment in FOLDER that pip fills; without
# either its column is "-". The two alternate network by network, so ratios of one run mean something on a busy machine.
set -eu
netc=$1 folder=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
ZOO=${ZOO:-$root/../shared/data/onnx/zoo}
RUNS=${RUNS:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

timing_main() { # timing_main HEADER: a program that prints the median of argv[2] runs with the weights in argv[1]
    awk -v header="$1" '
        BEGIN { bytes["f64"] = bytes["i64"] = 8; bytes["f32"] = bytes["i32"] = 4; bytes["f16"] = bytes["bf16"] = bytes["i16"] = 2 }
        /^int [a-z0-9_]+_init\(/ { net = substr($2, 1, index($2, "_init(") - 1) }
        /^ \*   (in|out) / {
            n = 1
            type = $4
            sub(/\[.*/, "", type)
            dims = $0
            sub(/^[^[]*\[/, "", dims)
            sub(/\].*/, "", dims)
            k = split(dims, d, ", ")
            for (i = 1; i <= k; i++) n *= d[i]
            size = type in bytes ? bytes[type] : 1
            body = body sprintf("    void *p%d = calloc(%d, %d);\n", count, n + 1, size)
            if ($2 == "in" && type == "f32") body = body sprintf("    for (long i = 0; i < %d; i++) ((float *)p%d)[i] = (float)i / %d;\n", n, count, n)
            if ($2 == "in" && type == "i64") body = body sprintf("    for (long i = 0; i < %d; i++) ((int64_t *)p%d)[i] = i %% %d;\n", n, count, /segment/ ? 2 : 97)
            if ($2 == "in" && type == "bool") body = body sprintf("    memset(p%d, 1, %d);\n", count, n)
            arguments = arguments ", p" count++
        }
        END {
            printf "#define _POSIX_C_SOURCE 200809L\n#include \"%s.c\"\n#include <time.h>\n", header
            print "static int less(const void *a, const void *b) { return *(const double *)a > *(const double *)b ? 1 : -1; }"
            print "int main(int argc, char **argv) {\n    int runs = argc == 3 ? atoi(argv[2]) : 0;"
            printf "    static %s net;\n    double *ms = calloc((size_t)runs + 1, sizeof *ms);\n", net
            printf "    void *weights = aligned_alloc(64, (%s_WEIGHTS_BYTES + 63) / 64 * 64);\n", toupper(net)
            printf "%s    int code = %s_read_weights(argv[1], weights);\n    if (!code) code = %s_init(&net, NULL, weights);\n", body, net, net
            print "    for (int i = 0; !code && i <= runs; i++) {\n        struct timespec a, b;"
            printf "        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);\n        code = %s_run(&net%s);\n", net, arguments
            print "        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);"
            print "        ms[i] = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;\n    }"
            printf "    if (code) return fprintf(stderr, \"%%s\\n\", %s_error(code)), 1;\n", net
            print "    qsort(ms + 1, (size_t)runs, sizeof *ms, less);\n    printf(\"%.2f\\n\", ms[(runs + 1) / 2]);\n    return 0;\n}"
        }' "$work/$1.h"
}

peer() {        # peer FILE: its time, or -
    [ -n "$python" ] && [ -f "$1" ] && "$python" "$root/bench/ort.py" "$RUNS" "$1" || echo -
}

python=
if [ ! -d "$ZOO" ]; then
    echo "[skip] ONNX Runtime: no models in $ZOO"
elif [ -x "$folder/peer/bin/python" ] || python3 -m venv "$folder/peer" >/dev/null 2>&1; then
    if "$folder/peer/bin/python" -c 'import onnxruntime' 2>/dev/null || "$folder/peer/bin/python" -m pip install -q onnxruntime numpy >/dev/null 2>&1; then
        python=$folder/peer/bin/python
    else
        echo "[skip] ONNX Runtime: pip cannot install it"
    fi
else
    echo "[skip] ONNX Runtime: python3 makes no virtual environment"
fi

[ $# -gt 0 ] || set -- resnet50 resnet18 vgg16 densenet121 alexnet bert_base convnext_tiny efficientnet_b0 googlenet inception_v3 lstm_tagger \
    mnasnet1_0 mobilenet_v2 mobilenet_v3_large regnet_y_400mf resnet152 resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 swin_t \
    unet vgg19 vit_b_16
printf '%-22s %10s %12s %7s\n' 'one thread, ms' netc 'ONNX Runtime' ratio
for name in "$@"; do
    "$netc" "$root/examples/$name.net" --emit=c --seed=1 -o "$work/$name.c"
    timing_main "$name" >"$work/main.c"
    ${CC:-cc} ${CFLAGS:--O3 -march=native} -o "$work/run" "$work/main.c" -lm
    ours=$("$work/run" "$work/$name.weights" "$RUNS" || echo failed)
    theirs=$(peer "$ZOO/$name.onnx")
    rm -f "$work"/*
    awk -v n="$name" -v a="$ours" -v b="$theirs" 'BEGIN {
        printf "%-22s %10s %12s %7s\n", n, a, b, a + 0 && b + 0 ? sprintf("%.2f", a / b) : "-" }'
done
