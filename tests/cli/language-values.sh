# What the language computes at compile time: each assertion holds, and the network has the stated results.
cat > values.net <<'END'
dim N = 2, T <= 16
const CFG = [(4, 1), (8, 2)]
const NAME = "stem{N}"
block two(x: [N, ..., D], k: int = D * 2, mask: [N, D] = none) {
    a, b = linear(x, k) |> chunk(2, dim=-1)
    if mask == none { return a, b }
    return a + mask, b
}
block opt(x, act: str = "relu") {
    return relu(x) if act == "relu" else tanh(x)
}
block tuple_results(x: [N, C]) -> (a: [N, C], b: [N, 2 * C]) {
    return x * 2, cat((x, x), dim=1)
}
net t(x: f32[N, 3, D=4], m: f32[N, 4], ids: i64[N, T]) -> (y: f32[N, 3, 4], s: f32[], i: f32[N, T]) {
    p, q = two(x)
    r = two(x, mask=none)
    u = r[0] + r[1]
    v = x[0, ..., -1]
    for c, s in [CFG[1], CFG[0]] { x = x |> linear(c, name="{NAME}.{c}_{s}") }
    x = x |> linear(4)
    assert len(CFG) == 2 and CFG[1][0] == 8 and x.shape == [N, 3, 4] and x.ndim == 3 and x.dtype == f32
    assert max(1, 2, 3) == 3 and min([4, 2]) == 2 and int(2.7) == 2 and 7 // 2 == 3 and -7 // 2 == -4 and -7 % 3 == 2 and 2 ** -1 == 0.5
    assert range(3) == [0, 1, 2] and range(5, 0, -2) == [5, 3, 1] and float(3) == 3.0 and "a" < "b" and ceil(2.1) == 3 and abs(-3) == 3
    h, n = lstm(ids.cast(f32).unsqueeze(1), 4)
    g = lstm(ids.cast(f32).unsqueeze(1), 4)
    e: f32[N, _, ...] = x
    d1, d2 = m |> tuple_results
    k = opt(x, act="tanh").sigmoid().mul(2) ** 2 - 1 / (1 + exp(-e)) + (x > 0).cast(f32) + +x + x % 2 + x // 2
    ok = (x > 0) and not (x < 1) or x == 2
    z = x[:, :, none, 0].squeeze() + v.sum() + u.mean() + g.sum() + h.sum() + n.sum() + d1.sum() + d2.sum() + p.sum() + q.sum()
    return k + where(ok, k, 0.0) + z.sum(), 3.5 * x.sum(), ids.cast(f32)
}
END
"$NETC" --emit=ir values.net | grep '^dim\|^result'; echo "exit $?"
"$NETC" -D N=3 -D T=8 -D D=4 --emit=ir values.net | grep '^dim\|^result'; echo "exit $?"
