# A file that may not be opened. Root may open anything.
[ "$(id -u)" != 0 ] || { echo 'root can read every file'; exit 77; }
echo 'net f(x: f32[2]) -> (y: f32[2]) { return relu(x) }' >f.net
chmod 0 f.net
"$NETC" f.net; echo "exit $?"
