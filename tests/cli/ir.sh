# Printed IR as input: the dump after any pass prints the same again, and reports like its program.
cp "$ROOT"/examples/lenet.net .
for pass in $("$NETC" --list-passes | cut -d' ' -f1); do
    "$NETC" --print-after="$pass" lenet.net 2>dump.ir >/dev/null || echo "exit $? after $pass"
    grep -q '^netir ' dump.ir || { echo "no dump after $pass"; continue; }
    awk '/^netir / { n++ } n == 1' dump.ir >first.ir
    "$NETC" --emit=ir first.ir >again.ir || echo "the dump after $pass is not read"
    cmp first.ir again.ir
done
for level in naive reuse inplace alias full; do
    "$NETC" --plan=$level --target=c --report=json lenet.net >direct.json
    "$NETC" --plan=$level --target=c --emit=ir lenet.net >full.ir
    "$NETC" --report=json full.ir >via.json || echo "exit $? at $level"
    cmp direct.json via.json
done
"$NETC" -D N=2 full.ir; echo "exit $?"
"$NETC" --emit=ast full.ir; echo "exit $?"
printf 'netir 1\nnonsense\n' >bad.ir
"$NETC" bad.ir; echo "exit $?"
printf 'netir 999\n' >later.ir
"$NETC" later.ir; echo "exit $?"
