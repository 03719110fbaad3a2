# Every wrong command line: one line that says what is wrong, the advice, exit 2.
try() {
    echo "\$ netc $*"
    "$NETC" "$@"
    echo "exit $?"
}
cat >f.net <<'.'
net f(x: f32[8, 4]) -> (y: f32[8, 2]) {
    return linear(x, 2)
}
.
try
try --reprot f.net
try -Z f.net
try -Zh f.net
try --report=tabel f.net
try --report json f.net
try f.net f.net
try --report=html f.net
try --emit=cuda f.net
try --emit=everything f.net
try --plan=reorder f.net
try --plan=naif f.net
try --prefer=speed f.net
try --train f.net
try --train=f f.net
try -D N f.net
try -D =3 f.net
try -D 3=3 f.net
try --budget=64MB f.net
try --budget=0 f.net
try --budget=0.3B f.net
try --budget=9999999999GiB f.net
try --align=100 f.net
try --align=2GiB f.net
try --max-ops=0 f.net
try --max-errors=-1 f.net
try --width=20 f.net
try --width=99999999999999999999 f.net
try --color=sometimes f.net
try -o
try --budget
try --ascii=yes f.net
try -Wno-unused-valu f.net
try -Werror=syntax f.net
try --print-after=fuze f.net
try --print-after=nothing-like-it f.net
try --explain=unknown-opp
try --emit=ast --budget=1KiB f.net
try --emit=ir --report f.net
try --emit=ir -n 3 f.net
try --report=json --width=80 f.net
for word in compare sweep fit diff explain run; do try $word f.net; done
printf 'id,lower,upper,size\na,0,3,4\n' >f.csv
try f.csv
try plan
try plan f.csv f.csv
try plan none.csv
try plan --report f.csv
try plan --budget=1KiB f.csv
try plan --capacity=lots f.csv
try plan --capacity=0 f.csv
try plan --capacity=ram=8 f.csv
try plan --effort=-1 f.csv
try plan --align=3 f.csv
try --capacity=8 f.net
try --effort=8 f.net
try model.onnx
