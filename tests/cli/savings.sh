# --savings: json says what each level needs and what each decision saves; other outputs have no place for it.
json() { "$NETC" "$@" | sed -n '/"levels"/,$p'; }
cat > block.net <<'END'
net block(x: f32[1, 8, 16, 16]) -> f32[1, 1, 16, 16] {
    stem = x |> conv2d(16, 3, padding=1) |> relu
    pooled = stem |> max_pool2d(3, 1, padding=1)
    y = pooled |> conv2d(4, 1) |> relu |> conv2d(16, 3, padding=1) |> add(pooled)
    return y |> conv2d(1, 1)
}
END
json block.net --target=c --report=json --savings
"$NETC" block.net --target=c --report=json | grep -c '"rewrites"'
"$NETC" block.net --target=c --report=why | sed -n '/by level/,/^not/p'
"$NETC" block.net --savings; echo "exit $?"
"$NETC" block.net --emit=ir --savings; echo "exit $?"
