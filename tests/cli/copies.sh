# A result is a buffer of its own: an input, a stored tensor, a number, the same value twice are copied; parts of a tuple are not.
cat > copies.net <<'END'
net t(x: f32[2, 3]) -> (a: f32[2, 3], b: f32[2, 3], c: f32[2, 3], w: f32[3], d: f32[], n: i64[]) {
    param p: f32[3]
    y = relu(x)
    return x, y, y, p, 3.0, 4
}
END
"$NETC" --emit=ir copies.net | grep ' = \|^result\|^param\|^const'
cat > names.net <<'END'
net t(x: f32[2, 3]) {
    a = relu(x)
    return a, a, tanh(x)
}
END
"$NETC" --emit=ir names.net | grep '^result'
