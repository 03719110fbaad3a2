# netc run: what it prints and writes, and every fault of an array or a weights file.
bytes() {       # bytes N K: N as K bytes, little endian
    n=$1 k=$2
    while [ "$k" -gt 0 ]; do
        printf "\\$(printf %o $((n % 256)))"
        n=$((n / 256)) k=$((k - 1))
    done
}
npy() {         # npy DESCR FORTRAN SHAPE NBYTES: an array of zeros
    head="{'descr': $1, 'fortran_order': $2, 'shape': $3, }"
    printf '\223NUMPY\001\000'
    bytes ${#head} 2
    printf %s "$head"
    head -c "$4" /dev/zero
}
st() {          # st HEADER NBYTES: a weights file of zeros
    bytes ${#1} 8
    printf %s "$1"
    head -c "$2" /dev/zero
}
run() {
    echo "\$ netc run $*"
    "$NETC" run "$@"
    echo "exit $?"
}
array() {       # array DESCR FORTRAN SHAPE NBYTES: as input x
    npy "$@" >x.npy
    run f.net --input=x=x.npy --message-format=short
}
weights() {     # weights HEADER NBYTES
    st "$@" >w.safetensors
    run f.net --weights=w.safetensors --message-format=short
}

cat >f.net <<'END'
net f(x: f32[2, 3], ids: i64[2]) -> (y: f32[2, 3], e: f32[2, 4], count: i64[], empty: f32[0]) {
    layer table = embedding(5, 4)
    param w: f32[3] = ones
    return x * w, table(ids), sum(ids), zeros(0)
}
END
run f.net
run f.net --seed=1
npy "'<f4'" False '(2, 3)' 24 >x.npy
run f.net --input=x=x.npy --output-dir=out
ls out; head -c 80 out/y.npy | tail -c 70; echo
run - --backend=ref <f.net
"$NETC" --emit=ir f.net >f.ir && run f.ir

# The command line.
run f.net --backend=cuda-host
run f.net --backend=rf
run f.net --budget=1KiB
run f.net --input=x
run f.net --input=x=x.npy --input=x=x.npy
run f.net --input=id=x.npy
run f.net --input=x=nothing.npy
run f.net --weights=.
run f.net --output-dir=f.net
"$NETC" f.net --seed=1; echo "exit $?"

# Arrays that are none, or not this one.
array "'<f8'" False '(2, 3)' 48
array "'<f4'" False '(3, 2)' 24
array "'<f4'" True '(2, 3)' 24
array "'>f4'" False '(2, 3)' 24
array "'<c8'" False '(2, 3)' 48
array "'|O'" False '(2, 3)' 48
array "[('a', '<f4')]" False '(2, 3)' 24
array "'<f4'" False '(2, 3)' 23
array "'<f4'" False '(2, 3)' 25
array "'<f4'" False '(2, 3' 24
array "'<f4'" False '(2, -3)' 24
array "'<f4'" False '(99999999999999999999,)' 24
array "'<f4'" False '(9999999999999999, 9999999999)' 24
array "'<f4'" False '(1,1,1,1,1,1,1,2,3)' 24
array "'<f4'" Maybe '(2, 3)' 24
array "'<f4', 'descr': '<f4'" False '(2, 3)' 24
array "'<f4', 'more': 1" False '(2, 3)' 24
npy "'<f4'" False '(2, 3)' 24 | head -c 40 >x.npy; run f.net --input=x=x.npy
printf '\223NUMPY\011\000' >x.npy; run f.net --input=x=x.npy
: >x.npy; run f.net --input=x=x.npy
npy "'<f4'" False '(2, 3)' 24 >x.npy

# Weights files: names that miss, types that differ, and what is no such file.
T='"shape":[5,4],"data_offsets":[0,80]' W='"shape":[3],"data_offsets":[80,92]'
st "{\"table.weight\":{\"dtype\":\"F32\",$T},\"w\":{\"dtype\":\"F32\",$W}}" 92 >w.safetensors; run f.net --weights=w.safetensors
st "{\"table.weigth\":{\"dtype\":\"F32\",$T},\"w\":{\"dtype\":\"F32\",$W}}  " 92 >w.safetensors; run f.net --weights=w.safetensors
run f.net --weights=w.safetensors -Wno-unused-weight -Werror=missing-weight --message-format=short
weights "{\"table.weight\":{\"dtype\":\"F16\",\"shape\":[5,4],\"data_offsets\":[0,40]},\"w\":{\"dtype\":\"U16\",\"shape\":[],\"data_offsets\":[40,42]}}" 42
weights "{\"__metadata__\":{\"w\":\"x\"},\"v\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}" 12
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}" 11
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}" 13
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[1,13]}}" 13
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,0]}}" 12
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,12]}}" 12
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}" 0
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[3.5],\"data_offsets\":[0,14]}}" 14
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0]}}" 12
weights "{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,12]}}" 12
weights "{\"w\":{\"shape\":[3],\"data_offsets\":[0,12]}}" 12
weights "{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[0,12]}}" 12
weights "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}" 8
weights "{\"v\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[8,20]}}" 20
weights "{\"w\":[]}" 0
weights '[]' 0
weights '{"w":' 0
weights '{} x' 0
bytes 100000001 8 >w.safetensors; run f.net --weights=w.safetensors
bytes 99 8 >w.safetensors; run f.net --weights=w.safetensors
bytes 99 7 >w.safetensors; run f.net --weights=w.safetensors

# Faults that only a run shows.
cat >g.net <<'END'
net g(i: i64[2]) -> (y: f32[2], z: i64[2]) {
    return index_select(zeros(3), 0, i * 100 + 7), i // (i - i)
}
END
run g.net
sed -i 's/i \* 100 + 7/i/' g.net; run g.net
