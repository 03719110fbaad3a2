# The forms of messages: for people, short, JSON; colour; limits; warnings.
cat >f.net <<'.'
net f(x: f32[8, 4]) -> (y: f32[8, 2]) {
    layer spare = linear(3)
    a = relux(x)
    b = gelux(x)
    c = siluu(x)
    return a
}
.
"$NETC" --message-format=short f.net; echo "exit $?"
"$NETC" --message-format=json f.net; echo "exit $?"
"$NETC" --max-errors=2 --message-format=short f.net; echo "exit $?"
"$NETC" --max-errors=2 --message-format=json f.net 2>&1 | tail -1
"$NETC" --color=always f.net 2>&1 | head -3
NO_COLOR=1 CLICOLOR_FORCE=1 "$NETC" f.net 2>&1 | head -1
CLICOLOR_FORCE=1 "$NETC" f.net 2>&1 | head -1
CLICOLOR_FORCE=0 "$NETC" f.net 2>&1 | head -1
cat >w.net <<'.'
net f(x: f32[8, 4]) -> (y: f32[8, 2]) {
    layer spare = linear(3)
    return linear(x, 2)
}
.
try() {
    echo "\$ netc $*"
    "$NETC" --message-format=short "$@" w.net >/dev/null
    echo "exit $?"
}
try
try -Wno-unused-name
try -Werror
try -Werror=unused-name
try -Werror=unused-value
try -Werror -Wno-unused-name
try -Wno-unused-name -Wunused-name
