# Over budget: the report is printed all the same, then the message, exit 1. The command line is stronger than @memory.
cat >f.net <<'.'
@memory(budget=1MiB)
net f(x: f32[64, 256]) -> (y: f32[64, 10]) {
    return x |> linear(512) |> relu |> linear(10)
}
.
"$NETC" --emit=weights-list f.net; echo "exit $?"
"$NETC" f.net >report; echo "exit $?"
"$NETC" --budget=1KiB f.net >report; echo "exit $?"
[ -s report ] && echo 'there is a report'
"$NETC" --arena-budget=1KiB f.net >report; echo "exit $?"
"$NETC" --arena-budget=1GiB f.net >report; echo "exit $?"
"$NETC" --budget=1.5MiB --report=json f.net >report; echo "exit $?"
