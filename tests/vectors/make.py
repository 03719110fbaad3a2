#!/usr/bin/env python3
"""make.py OUT.json: the vectors that tests/run.py holds the reference evaluator against, computed by PyTorch.

The stored vectors.json was made by PyTorch 1.13 of Debian 12 (python3-torch, python3-numpy), run as
    /usr/bin/python3 tests/vectors/make.py tests/vectors/vectors.json
A case is a program, its inputs and PyTorch's results; numbers are in the shortest form that reads back the same, nan and
infinities as words. Inputs come from Python's random module under a fixed seed, so that the file is made again as it is.
Cases in f64 are compared to 1e-12 of the largest result; integers, bools and 16-bit floats exactly.
"""
import json
import math
import random
import sys

import torch
import torch.nn.functional as F

INF, NAN = math.inf, math.nan
DTYPES = {'f64': torch.float64, 'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16, 'i64': torch.int64, 'i32': torch.int32,
          'i16': torch.int16, 'i8': torch.int8, 'u8': torch.uint8, 'bool': torch.bool}
NAMES = {v: k for k, v in DTYPES.items()}
rng = random.Random(1)
cases = []


def text(t):
    return f'{NAMES[t.dtype]}[{", ".join(map(str, t.shape))}]'


def word(v):
    return v if not isinstance(v, float) or math.isfinite(v) else str(v)


def stored(t):
    return {'dtype': NAMES[t.dtype], 'shape': list(t.shape), 'data': [word(v) for v in t.reshape(-1).tolist()]}


def case(body, f, *inputs):
    """body: what follows `return`, of the inputs a, b, c; f: the same by PyTorch."""
    results = f(*inputs)
    results = results if isinstance(results, (tuple, list)) else (results,)
    args = ', '.join(f'{n}: {text(t)}' for n, t in zip('abc', inputs))
    outs = ', '.join(f'r{i}: {text(t)}' for i, t in enumerate(results))
    net = f'net t({args}) -> ({outs}) {{\n    return {body}\n}}\n'
    cases.append({'net': net, 'inputs': {n: stored(t) for n, t in zip('abc', inputs)},
                  'outputs': {f'r{i}': stored(t) for i, t in enumerate(results)}})


def reals(*shape, lo=-3.0, hi=3.0, dtype=torch.float64):
    n = math.prod(shape)
    return torch.tensor([round(rng.uniform(lo, hi), 3) for _ in range(n)], dtype=dtype).reshape(shape)


def ints(*shape, lo=-9, hi=9, dtype=torch.int64):
    return torch.tensor([rng.randint(lo, hi) for _ in range(math.prod(shape))], dtype=dtype).reshape(shape)


def of(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


EDGES = of(-INF, -4.0, -3.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 3.0, 6.0, 7.0, 25.0, INF, NAN)
FINITE = EDGES[1:-2]

# activations
for name in ('relu', 'relu6', 'leaky_relu', 'elu', 'selu', 'celu', 'hardsigmoid', 'hardtanh'):
    case(f'{name}(a)', getattr(F, name), EDGES)
case('sigmoid(a), tanh(a)', lambda a: (a.sigmoid(), a.tanh()), EDGES)
for name in ('gelu', 'silu', 'mish', 'hardswish', 'softplus', 'softsign'):
    case(f'{name}(a)', getattr(F, name), FINITE)
case('gelu(a, approximate="tanh")', lambda a: F.gelu(a, approximate='tanh'), FINITE)
case('leaky_relu(a, 0.3), elu(a, 0.5), celu(a, 2.0), hardtanh(a, -0.75, 2.25), softplus(a, 0.5, 2.0)',
     lambda a: (F.leaky_relu(a, 0.3), F.elu(a, 0.5), F.celu(a, 2.0), F.hardtanh(a, -0.75, 2.25), F.softplus(a, 0.5, 2.0)), FINITE)
case('relu(a), relu6(a), hardtanh(a, -2.0, 3.0)', lambda a: (F.relu(a), F.relu6(a), F.hardtanh(a, -2, 3)), ints(8))
case('softmax(a, 1), log_softmax(a, 0), softmax(a, -1)', lambda a: (F.softmax(a, 1), F.log_softmax(a, 0), F.softmax(a, -1)), reals(2, 3, 4))
case('softmax(a, 0), log_softmax(a, 0)', lambda a: (F.softmax(a, 0), F.log_softmax(a, 0)), of(1000.0, 1000.0, -1000.0))
case('softmax(a, 0)', lambda a: F.softmax(a, 0), of(-INF, -INF))
case('glu(a), glu(a, 0)', lambda a: (F.glu(a), F.glu(a, 0)), reals(2, 4))
case('prelu(a, weight=b)', F.prelu, reals(2, 3, 2), reals(3))
case('prelu(a, weight=b)', F.prelu, reals(2, 3), reals(1))

# element by element
PAIRS = reals(4, 1, 3), reals(2, 1)
for op in ('+', '-', '*', '/'):
    case(f'a {op} b', eval(f'lambda a, b: a {op} b'), *PAIRS)
A, B = of(7.0, -7.0, 7.0, -7.0, 0.0, -0.0, 5.5, -1e-9, 3.0, -3.0, 1.0, INF), of(2.0, 2.0, -2.0, -2.0, 3.0, 3.0, -1.25, 3.0, INF, INF, 0.0, 2.0)
case('a // b, a % b', lambda a, b: (torch.div(a, b, rounding_mode='floor'), torch.remainder(a, b)), A, B)
case('minimum(a, b), maximum(a, b)', lambda a, b: (torch.minimum(a, b), torch.maximum(a, b)), of(1.0, NAN, 2.0, -INF), of(2.0, 1.0, NAN, INF))
case('a ** b', torch.pow, of(2.0, -2.0, -2.0, 0.0, 9.0, 2.0), of(3.0, 3.0, 0.5, 0.0, 0.5, -1.0))
for dtype in ('i64', 'i32', 'i16', 'i8', 'u8'):
    lo, top = (0, 255) if dtype == 'u8' else (-(2 ** (int(dtype[1:]) - 1)), 2 ** (int(dtype[1:]) - 1) - 1)
    a, b = of(lo, top, 7, 9, 100, 3, top, 11, dtype=DTYPES[dtype]), of(1, 1, 2, 4, 100, 5, top, 3, dtype=DTYPES[dtype])
    case('a + b, a - b, a * b, a // b, a % b, -a', lambda a, b: (a + b, a - b, a * b, torch.div(a, b, rounding_mode='floor'), a % b, -a), a, b)
    case('a ** b, a / b, abs(a)', lambda a, b: (a ** b, a / b, torch.abs(a)), a, b)
SIGNED = ints(12, lo=-20, hi=20), of(*[v for v in range(-6, 7) if v])
case('a // b, a % b, minimum(a, b), maximum(a, b)', lambda a, b: (torch.div(a, b, rounding_mode='floor'), a % b, torch.minimum(a, b), torch.maximum(a, b)),
     SIGNED[0], SIGNED[1].to(torch.int64))
X, Y = of(1.0, 2.0, NAN, 0.0, -0.0), of(1.0, 3.0, NAN, -0.0, 5.0)
case('a == b, a != b, a < b, a <= b, a > b, a >= b', lambda a, b: (a == b, a != b, a < b, a <= b, a > b, a >= b), X, Y)
case('logical_and(a, b), logical_or(a, b), logical_not(a)', lambda a, b: (torch.logical_and(a, b), torch.logical_or(a, b), torch.logical_not(a)), X, Y)
T, U = of(True, True, False, False, dtype=torch.bool), of(True, False, True, False, dtype=torch.bool)
case('a + b, a * b, maximum(a, b), a == b, a / b', lambda a, b: (a + b, a * b, torch.maximum(a, b), a == b, a / b), T, U[:1].expand(4).clone())
case('where(a, b, c)', torch.where, of(True, False, True, dtype=torch.bool), reals(2, 1), reals(3))
case('masked_fill(a, b, -1.5)', lambda a, b: a.masked_fill(b, -1.5), reals(2, 2), of(True, False, dtype=torch.bool))
case('abs(a), -a, exp(a), sin(a), cos(a), erf(a), floor(a), ceil(a), round(a)',
     lambda a: (a.abs(), -a, a.exp(), a.sin(), a.cos(), a.erf(), a.floor(), a.ceil(), a.round()), FINITE)
case('log(a), sqrt(a), rsqrt(a)', lambda a: (a.log(), a.sqrt(), a.rsqrt()), of(0.0, 0.25, 1.0, 2.0, 9.0, INF, -1.0))
case('exp(a), sqrt(a), sigmoid(a)', lambda a: (a.exp(), a.sqrt(), a.sigmoid()), ints(5, lo=0))
case('clamp(a, -1.0, 2.0), clamp(a, min=0.5), clamp(a, max=0.5), clamp(a, 3.0, 1.0)',
     lambda a: (a.clamp(-1, 2), a.clamp(min=0.5), a.clamp(max=0.5), a.clamp(3, 1)), EDGES)
case('clamp(a, -3, 4)', lambda a: a.clamp(-3, 4), ints(9))
case('cast(a, i64), cast(a, i8), cast(a, u8), cast(a, bool), cast(a, f16), cast(a, f32)',
     lambda a: (a.long(), a.to(torch.int8), a.to(torch.uint8), a.bool(), a.half(), a.float()), of(-2.9, -0.5, 0.0, 0.5, 2.9, 100.1))
case('cast(a, u8), cast(a, i8), cast(a, i16), cast(a, bool), cast(a, f32), cast(a, bf16)',
     lambda a: (a.to(torch.uint8), a.to(torch.int8), a.to(torch.int16), a.bool(), a.float(), a.bfloat16()), of(-1, 0, 255, 256, 40000, 16777217, dtype=torch.int64))
HALVES = of(1.0, 1.0009765625, 1.00048828125, 1.00146484375, 65504.0, 65519.0, 65520.0, 6e-8, 2e-8, 3e-8, 1e-5, -0.1, 3.4e38, 1e-41)
case('cast(a, f16), cast(a, bf16), cast(cast(a, f32), bf16)', lambda a: (a.half(), a.bfloat16(), a.float().bfloat16()), HALVES)
case('a + b, a * b', lambda a, b: (a + b, a * b), reals(6, dtype=torch.float16), reals(6, dtype=torch.float16))
case('a + b, a * b', lambda a, b: (a + b, a * b), reals(6, dtype=torch.bfloat16), reals(6, dtype=torch.bfloat16))

# reductions and orders
R = reals(2, 3, 4)
case('sum(a), sum(a, 1), sum(a, (0, 2), keepdim=true), mean(a), mean(a, -1)',
     lambda a: (a.sum(), a.sum(1), a.sum((0, 2), keepdim=True), a.mean(), a.mean(-1)), R)
case('var(a), var(a, 1), var(a, (0, 2), correction=0, keepdim=true)',
     lambda a: (a.var(), a.var(1), a.var((0, 2), unbiased=False, keepdim=True)), R)
case('amax(a), amin(a, 1), amax(a, (0, 2)), prod(a), prod(a, 1, keepdim=true)',
     lambda a: (a.amax(), a.amin(1), a.amax((0, 2)), a.prod(), a.prod(1, keepdim=True)), R)
N = torch.stack([of(1.0, NAN, 3.0, NAN), of(5.0, 5.0, -1.0, -1.0)])
case('amax(a, 1), amin(a, 1), argmax(a, 1), argmin(a, 1), argmax(a), argmin(a, 0, keepdim=true)',
     lambda a: (a.amax(1), a.amin(1), a.argmax(1), a.argmin(1), a.argmax(), a.argmin(0, keepdim=True)), N)
case('sum(a), prod(a, 0), cumsum(a, 0), amax(a, 0)', lambda a: (a.sum(), a.prod(0), a.cumsum(0), a.amax(0)), ints(3, 2, dtype=torch.int32))
case('sum(a), cumsum(a, 0), amax(a)', lambda a: (a.sum(), a.cumsum(0), a.amax()), T)
case('sum(a), prod(a), mean(a), sum(a, 0)', lambda a: (a.sum(), a.prod(), a.mean(), a.sum(0)), reals(0, 2))
case('cumsum(a, 0), cumsum(a, 1), cumsum(a, 2)', lambda a: (a.cumsum(0), a.cumsum(1), a.cumsum(2)), R)
TIES = of(3, 1, 3, 2, 1, 0, 2, 3, dtype=torch.int64)
for direction in ('false', 'true'):
    case(f'sort(a, descending={direction}, stable=true)', lambda a: tuple(torch.sort(a, stable=True, descending=direction == 'true')), TIES)
    case(f'sort(a, 1, descending={direction}, stable=true)', lambda a: tuple(torch.sort(a, dim=1, stable=True, descending=direction == 'true')), N)
case('sort(a, 1)', lambda a: tuple(torch.sort(a, 1)), R)
case('topk(a, 2, 1)', lambda a: tuple(torch.topk(a, 2, 1)), R)
case('topk(a, 3, largest=false)', lambda a: tuple(torch.topk(a, 3, largest=False)), R)

# shapes, joins, parts
case('transpose(a, 0, 2), permute(a, 2, 0, 1), reshape(a, 4, 6), flatten(a, 0)',
     lambda a: (a.transpose(0, 2), a.permute(2, 0, 1), a.reshape(4, 6), a.flatten(0)), R)
case('expand(a, 4, 2, 3)', lambda a: a.expand(4, 2, 3), reals(2, 1))
case('channel_shuffle(a, 3)', lambda a: a.reshape(2, 3, 2, 2).transpose(1, 2).reshape(2, 6, 2), reals(2, 6, 2))
case('pixel_shuffle(a, 2)', lambda a: F.pixel_shuffle(a, 2), reals(2, 8, 2, 3))
case('pixel_unshuffle(a, 2)', lambda a: F.pixel_unshuffle(a, 2), reals(2, 2, 4, 6))
case('cat([a, b], 1), cat([b, a], 1)', lambda a, b: (torch.cat([a, b], 1), torch.cat([b, a], 1)), R, reals(2, 1, 4))
case('stack([a, b], 1), stack([a, b], -1)', lambda a, b: (torch.stack([a, b], 1), torch.stack([a, b], -1)), reals(2, 2), reals(2, 2))
case('a[1], a[:, 1:3], a[..., ::2], a[:, -1]', lambda a: (a[1], a[:, 1:3], a[..., ::2], a[:, -1]), R)

# indices
case('gather(a, 1, b)', lambda a, b: a.gather(1, b), R, ints(2, 2, 3, lo=0, hi=2))
case('gather(a, -1, b)', lambda a, b: a.gather(-1, b), ints(3, 4), ints(2, 5, lo=0, hi=3))
case('index_select(a, 1, b), index_select(a, 0, c)', lambda a, b, c: (a.index_select(1, b), a.index_select(0, c)), R, of(2, 0, 2, dtype=torch.int64), of(1, dtype=torch.int32))
case('one_hot(a, 4)', lambda a: F.one_hot(a, 4), of(3, 0, 1, dtype=torch.int64))
case('tril(a), triu(a, 1), tril(a, -1)', lambda a: (a.tril(), a.triu(1), a.tril(-1)), R)

# creation
case('a + arange(3, dtype=f64), arange(5), arange(7, 1, -2), arange(0.5, 2.1, 0.4), full((2, 2), 7)',
     lambda a: (a + torch.arange(3, dtype=torch.float64), torch.arange(5), torch.arange(7, 1, -2), torch.arange(0.5, 2.1, 0.4), torch.full((2, 2), 7)), reals(3))

# moved and resampled
case('pad(a, (1, 2)), pad(a, (-1, 1, 0, 2), value=0.5)', lambda a: (F.pad(a, (1, 2)), F.pad(a, (-1, 1, 0, 2), value=0.5)), R)
for mode in ('reflect', 'replicate', 'circular'):
    case(f'pad(a, (2, 1), mode="{mode}")', lambda a: F.pad(a, (2, 1), mode=mode), R)
    case(f'pad(a, (1, 2, 2, 0), mode="{mode}")', lambda a: F.pad(a, (1, 2, 2, 0), mode=mode), reals(1, 2, 3, 4))
    case(f'pad(a, (-1, 2), mode="{mode}")', lambda a: F.pad(a, (-1, 2), mode=mode), reals(1, 2, 5))
    case(f'pad(a, (2, -1), mode="{mode}")', lambda a: F.pad(a, (2, -1), mode=mode), reals(1, 2, 5))
case('tile(a, 2, 3), tile(a, 2)', lambda a: (a.repeat(2, 3), a.tile(2)), reals(2, 2))
case('flip(a, (0, 2)), roll(a, 5), roll(a, (1, -3), (0, 2))', lambda a: (a.flip(0, 2), a.roll(5), a.roll((1, -3), (0, 2))), R)
IMAGES = {3: ('linear', reals(1, 2, 5)), 4: ('bilinear', reals(1, 2, 4, 5)), 5: ('trilinear', reals(1, 1, 2, 3, 4))}
for rank, (linear, image) in IMAGES.items():
    for mode in ('nearest', 'nearest-exact', 'area', linear) + (('bicubic',) if rank == 4 else ()):
        for corners in (False, True) if mode in (linear, 'bicubic') else (None,):
            tail = '' if corners is None else f', align_corners={str(corners).lower()}'
            for size in (3, 7):
                case(f'interpolate(a, size={size}, mode="{mode}"{tail})', lambda a: F.interpolate(a, size=size, mode=mode, align_corners=corners), image)
            for scale in (2.0, 1.7, 0.6):
                case(f'interpolate(a, scale_factor={scale}, mode="{mode}"{tail})',
                     lambda a: F.interpolate(a, scale_factor=scale, mode=mode, align_corners=corners), image)
for n in (3, 5, 6, 7, 9, 11, 13, 49, 83):
    case(f'interpolate(a, size={n}, mode="nearest"), interpolate(a, size={n}, mode="nearest-exact")',
         lambda a: (F.interpolate(a, size=n), F.interpolate(a, size=n, mode='nearest-exact')), reals(1, 1, 12, dtype=torch.float32))

with open(sys.argv[1], 'w') as f:
    f.write('[\n' + ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases) + '\n]\n')
print(len(cases), 'cases by PyTorch', torch.__version__)
