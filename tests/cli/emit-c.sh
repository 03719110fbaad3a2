# --emit=c: what it writes, what it refuses, how names are made valid.
cat > exp.net <<'END'
net exp(float: f32[2, 4], errno: i64[2], y: bool[1]) -> (f32: f32[2, 4], float_2: i64[2], y: bool[1]) {
    return float |> linear(4), errno + 1, y |> logical_not
}
END
try() { echo "\$ netc $*"; "$NETC" "$@"; echo "exit $?"; }
try --emit=c exp.net
try --emit=c -o - exp.net
try --emit=c -o exp.txt exp.net
try --emit=c -o exp.c --target=cuda exp.net
try --emit=c -o exp.c --weights=nothing.safetensors exp.net
try --emit=c -o none/exp.c exp.net
ls
try --emit=c -o exp.c exp.net
ls
try --emit=c -o exp.c --seed=3 exp.net
ls
sed -n '/^typedef/,$p' exp.h
${CC:-cc} -std=c11 -Wall -Wextra -Werror -pedantic -c exp.c && echo compiled
cp exp.c before.c
"$NETC" --emit=c -o exp.c --seed=4 exp.net && cmp exp.c before.c && echo "the same text"
cat > division.net <<'END'
net t(x: i32[2]) -> (y: i32[2]) { return 7 // (x - x) }
END
try run division.net --backend=c
cat > index.net <<'END'
net t(x: f32[3], i: i64[1]) -> (y: f32[1]) { return index_select(x, 0, i * 0 + 3) }
END
try run index.net --backend=c
CC=false
export CC
try run exp.net --backend=c
unset CC
cat > odd.net <<'END'
net t(x: f32[3], b: bool[3]) -> (y: f32[1], z: i64[1]) {
    c = b |> logical_not |> flip(dims=0)
    d = x |> relu |> flip(dims=0)
    return sum(d, dim=0, keepdim=true) * 2.0, sum(c, dim=0, keepdim=true) + 1
}
END
try --emit=c -o odd.c --align=1 --plan=naive odd.net
