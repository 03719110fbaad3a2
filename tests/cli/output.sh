# Writing: whole or not at all, failures noticed, nothing left behind.
cat >f.net <<'.'
net f(x: f32[8, 4]) -> (y: f32[8, 2]) {
    return linear(x, 2)
}
.
"$NETC" --emit=weights-list f.net -o out.csv; echo "exit $?"
cat out.csv
echo old >out.csv
"$NETC" --emit=weights-list f.net -D N=1 -o out.csv; echo "exit $?"
cat out.csv
"$NETC" --emit=weights-list f.net -o -; echo "exit $?"
"$NETC" --emit=weights-list f.net -o absent/out.csv; echo "exit $?"
"$NETC" --emit=weights-list f.net -o .; echo "exit $?"
"$NETC" --emit=weights-list f.net -o /dev/null; echo "exit $?"
if [ -w /dev/full ]; then
    "$NETC" --emit=weights-list f.net -o /dev/full; echo "exit $?"
    "$NETC" f.net >/dev/full; echo "exit $?"
    "$NETC" --help >/dev/full; echo "exit $?"
fi
("$NETC" f.net; echo "exit $?" >status) | true     # the reader is gone: no noise
sleep 0.1
"$NETC" f.net >&-; echo "exit $?"
mkdir sub && ln -s ../out.csv sub/link.csv
"$NETC" --emit=weights-list f.net -o sub/link.csv
[ -L sub/link.csv ] && grep -q '^linear1.weight' out.csv && echo 'the link is followed'
ls
