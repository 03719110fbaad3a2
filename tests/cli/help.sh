# What is asked for goes to standard output, exit 0.
"$NETC" --help 2>&1 >help; echo "exit $?"
cat help
"$NETC" -h | cmp - help
awk 'length > 100 { print "too wide: " $0 }' help
"$NETC" --version; echo "exit $?"
"$NETC" --explain=unknown-op; echo "exit $?"
# Every code has its section, every pass its line.
sed -n 's/^DIAG([A-Z_0-9]*, *"\([a-z-]*\)".*/\1/p' "$ROOT/base/diag.def" | while read -r code; do
    "$NETC" --explain="$code" | head -1 | grep -qx "## $code" || echo "no section on $code"
done
"$NETC" --list-passes | awk 'NF < 2 { print "no summary: " $0 }'
