# Input that is no program: always a message and a status, never a crash.
try() {
    echo "\$ netc $*"
    "$NETC" "$@"
    echo "exit $?"
}
try absent.net
try .
: >empty.net
try empty.net
printf '\n' >newline.net
try newline.net
printf '# only a comment' >comment.net
try comment.net
printf 'net f(x: f32[2]) -> (y: f32[2]) {\0 return relu(x) }' >nul.net
try nul.net
printf '\357\273\277net f(x: f32[2]) -> (y: f32[2]) {\r\n    return relu(x)\r\n}\r\n' >bom-crlf.net
try --emit=ast bom-crlf.net
printf 'net f(x: f32[2]) -> (y: f32[2]) {\r\n    return relu(z)\r\n}\r\n' >crlf.net
try crlf.net
printf 'net f(x: f32[2]) -> (y: f32[2]) { return relu(x\377) }\n' >latin.net
try latin.net
printf '\377\376n\0e\0t\0' >utf16.net
try utf16.net
printf 'net f(x: f32[2]) -> (y: f32[2]) {\n    \033[31m return relu(x)\n}\n' >escape.net
try escape.net
printf 'dim N = 99999999999999999999999\nnet f(x: f32[N]) -> (y: f32[N]) { return relu(x) }\n' >huge.net
try huge.net
printf 'net f(x: f32[9223372036854775807, 9]) -> (y: f32[9223372036854775807, 9]) { return relu(x) }\n' >wide.net
try wide.net
printf 'import "b.net" as b\nnet f(x: f32[2]) -> (y: f32[2]) { return relu(x) }\n' >a.net
printf 'import "./a.net" as a\nblock g(x) { return x }\n' >b.net
try a.net
awk 'BEGIN { printf "const A = "; for (i = 0; i < 100000; i++) printf "("; print "1" }' >deep.net
"$NETC" deep.net 2>&1 | cut -c 1-60; echo
awk 'BEGIN { printf "const A = 1"; for (i = 0; i < 100000; i++) printf "+1"; print "" }' >long.net
"$NETC" long.net 2>&1 | cut -c 1-60
awk 'BEGIN { for (i = 0; i < 50000; i++) print "if true {" }' >ifs.net
"$NETC" --message-format=short ifs.net >/dev/null 2>&1; echo "exit $?"
awk 'BEGIN { printf "const A = "; for (i = 0; i < 20000; i++) printf "-"; print "1" }' >minus.net
"$NETC" --message-format=short minus.net 2>&1 | head -1 | cut -c 1-100
cp bom-crlf.net b2.net
"$NETC" --emit=ast - <b2.net; echo "exit $?"
"$NETC" - </dev/null; echo "exit $?"
