# netc plan: offsets for a table of buffers, what is kept of the table, and every fault of one. Which rule found an answer, and
# after how much work, is no promise.
try() {
    echo "\$ netc plan $*"
    "$NETC" plan "$@" 2>said
    status=$?
    sed 's/ nodes=[0-9]* rule="[^"]*"//' said
    echo "exit $status"
}
table() {       # table NAME LINE...
    name=$1
    shift
    printf '%s\n' "$@" >"$name"
}
bad() {         # bad HEADER LINE...: prints what is wrong with it
    table bad.csv "$@"
    "$NETC" plan --message-format=short bad.csv
    echo "exit $?"
}

table five.csv id,lower,upper,size b1,0,3,4 b2,3,9,4 b3,0,9,4 b4,9,21,4 b5,0,21,4
try five.csv
try --capacity=12 five.csv -o five.out && cat five.out
try --capacity=11 five.csv -o never.out; [ -e never.out ] && echo 'a failed plan was written'
try - <five.csv
# Other columns, another order, quotes, CRLF: what is not understood is kept as it is.
printf 'size,"name",id,upper,lower,hint\r\n4,"a ""quoted"", name",x,3,0,-1\r\n8,"two\nlines",y,9,2,0\r\n' >kept.csv
"$NETC" plan kept.csv -o kept.out 2>said; sed 's/\r$/<CR>/' kept.out
# MiniMalloc's older header counts the last moment in.
table old.csv buffer_id,start,end,size a,0,2,4 b,3,8,4
try old.csv
# Lives that reach further than 32 bits, and before zero.
table far.csv id,lower,upper,size a,-9000000000,9000000000,4 b,9000000000,9000000001,8 c,0,1,2
try far.csv
# Alignment, a pin in either column, an empty life.
table pins.csv id,lower,upper,size,alignment,offset_fixed a,0,9,3,1,5 b,0,9,4,4, c,4,4,100,,2 d,3,9,2,,
try pins.csv
table offset.csv id,lower,offset,upper,size a,0,8,9,4 b,0,,9,8
try offset.csv
try --align=16 pins.csv
# Gaps: nothing is needed between 2 and 6, then only the upper half.
table gaps.csv id,lower,upper,size,gaps 'a,0,10,8,2-6 6-8@4:8' b,2,6,8, c,6,8,4,
try gaps.csv
# The output may start 2 bytes below its input, and share the rest with it.
table after.csv id,lower,upper,size,after in,0,2,8, out,1,3,8,in-2
try after.csv
# Banks have capacities of their own.
table banks.csv id,lower,upper,size,bank a,0,4,8,fast b,2,6,8,fast c,0,6,64,slow
try banks.csv --capacity=slow=64 --capacity=16
try banks.csv --capacity=fast=15
try banks.csv --capacity=fats=15
# What can be proven not to fit, with those that cannot lie together.
table pinned.csv id,lower,upper,size,offset a,0,4,8,0 b,2,6,8,4 c,0,9,1,
try pinned.csv
table alone.csv id,lower,upper,size a,0,4,8
try alone.csv --capacity=7
table align.csv id,lower,upper,size,alignment a,0,4,6,8 b,2,6,6,8 c,9,10,1,1
try align.csv --capacity=13
# Three bytes below a pin: the load is 8, the optimum 9.
table hole.csv id,lower,upper,size,offset a,0,4,2,3 b,0,4,4, c,0,4,2, d,4,9,1,
try hole.csv
try hole.csv --capacity=8
try hole.csv --capacity=8 --effort=0
try hole.csv --effort=0

: >empty.csv; try empty.csv
table none.csv id,lower,upper,size; try none.csv
bad id,lower,upper
bad id,lower,upper,sizes a,0,1,2
bad id,lower,upper,size,id a,0,1,2,a
bad id,lower,upper,size,end a,0,1,2,3
bad id,lower,upper,size a,0,1
bad id,lower,upper,size a,0,1,2,3
bad id,lower,upper,size ,0,1,2
bad id,lower,upper,size a,0,1,2 b,0,1,2 a,0,1,2
bad id,lower,upper,size a,x,1,2 b,0,,2 c,0,1,-2 d,0,1,2.5 e,0,1,0x10 f,0,1,99999999999999999999
bad id,lower,upper,size a,3,1,2
bad id,lower,upper,size a,0,1,4611686018427387904 b,0,1,1
bad id,lower,upper,size,alignment a,0,1,2,0 b,0,1,2,x
bad id,lower,upper,size,offset a,0,1,2,-1 b,0,1,2,x
bad id,lower,upper,size,offset,alignment a,0,1,2,3,2
bad id,lower,upper,size,offset,offset_fixed a,0,1,2,3,4
bad id,lower,upper,size,gaps a,0,9,4,2 b,0,9,4,2-1 c,0,9,4,2-10 d,0,9,4,2-3@3:9 'e,0,9,4,2-5 4-6' f,0,9,4,2-3@1
bad id,lower,upper,size,after a,0,9,4,b b,0,9,4,c+1 c,0,9,4,c+1 d,0,9,4,a+x
bad id,lower,upper,size,after a,0,9,4,b+1 b,0,9,4,a-1
bad id,lower,upper,size,after,gaps a,0,9,4,b+1, b,0,9,4,,2-3
bad id,lower,upper,size,after,bank a,0,9,4,b+1,x b,0,9,4,,y
bad id,lower,upper,size '"a,0,9,4'
bad id,lower,upper,size '"a"x,0,9,4'
printf 'id,lower,upper,size\na\0b,0,1,2\n' >bad.csv; "$NETC" plan --message-format=short bad.csv; echo "exit $?"
