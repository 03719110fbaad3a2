# The keys of stored tensors: names, counters from 1 in each block, layers that share, a tied weight, a name that adds nothing.
cat > keys.net <<'END'
dim N = 1
block inner(x, w: int) {
    x = linear(x, w) |> relu
    return linear(x, 4, name="out")
}
block outer(x) {
    layer f = inner(3)
    x = f(x)
    x = f(x)
    param scale: f32[4] = ones
    return inner(x, 5) * scale
}
net t(x: f32[N, 4]) -> (y: f32[N, 4]) {
    layer a = outer
    x = a(x)
    x = a(x)
    x = outer(x)
    x = inner(x, 6, name="features.0")
    x = inner(x, 7, name="")
    x = linear(x, 4) |> batch_norm
    layer tok = linear(4, name="head")
    y = tok(x)
    z = linear(y, 4, weight=tok.weight, bias=false)
    w = linear(z, 4, name="")
    return w * a.f.out.bias + a.scale
}
END
"$NETC" --emit=weights-list keys.net; echo "exit $?"
