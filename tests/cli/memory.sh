# Out of memory is a message and exit 2. The address sanitizer's shadow needs more than any limit leaves.
echo 'net f(x: f32[2]) -> (y: f32[2]) { return relu(x) }' >small.net
(ulimit -v 200000; "$NETC" --emit=ast small.net >/dev/null 2>&1) || { echo 'this build does not run under a limit'; exit 77; }
cat >large.net <<'.'
net f(x: f32[2]) -> (y: f32[2]) {
    repeat 1_000_000 { x = relu(x) }
    return x
}
.
(ulimit -v 100000; "$NETC" large.net; echo "exit $?")
