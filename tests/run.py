#!/usr/bin/env python3
"""netc run: arrays and weights files in and out, numbers from the seed, and values.

usage: run.py NETC [--full] [--torchvision] [--backend=ref] [--backend=c]

  vectors      tests/vectors/vectors.json, computed by PyTorch (vectors/make.py says how)
  files        every dtype of .npy and safetensors, round trips, and thousands of damaged files: exit status 0 or 1, never a crash
  seed         the generator of docs/run.md, written down again here; the same bytes in every run
  opsuite      the conformance suite beside the project, if it is there
  torchvision  logits of torchvision's networks under made-up weights, if they are there: four small ones, all of them with
               --full or --torchvision (alone)
Standard library only. Prints a line for each failure, [skip] for what cannot run here, then `N passed, N failed`.
"""
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.path.join(ROOT, '..', 'shared')
NPY = {'f64': '<f8', 'f32': '<f4', 'f16': '<f2', 'bf16': '<u2', 'f8e4m3': '|u1', 'f8e5m2': '|u1', 'i64': '<i8', 'i32': '<i4', 'i16': '<i2',
       'i8': '|i1', 'u8': '|u1', 'i4': '|i1', 'u4': '|u1', 'bool': '|b1'}
CODES = {'<f8': 'd', '<f4': 'f', '<f2': 'e', '<u2': 'H', '<i8': 'q', '<i4': 'i', '<i2': 'h', '|i1': 'b', '|u1': 'B', '|b1': 'B'}
SAFETENSORS = {'f64': 'F64', 'f32': 'F32', 'f16': 'F16', 'bf16': 'BF16', 'f8e4m3': 'F8_E4M3', 'f8e5m2': 'F8_E5M2', 'i64': 'I64', 'i32': 'I32',
               'i16': 'I16', 'i8': 'I8', 'u8': 'U8', 'bool': 'BOOL'}
FLOATS = ('f64', 'f32', 'f16', 'bf16', 'f8e4m3', 'f8e5m2')
# What the project decided otherwise than the suite's program assumes: multihead_attention's batch_first is true.
DECIDED = {'seq/multihead_attention-04'}
FEW = ('squeezenet1_1', 'mobilenet_v3_small', 'shufflenet_v2_x0_5')      # their weights are made in seconds, also without numpy
TOLERANCE = 2e-5


class Tally:
    passed = failed = 0

    def check(self, good, what):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print('FAIL run.py:', what)


def bits_of(dtype, v):
    """bf16 as its bits, rounded to nearest even."""
    if v != v:
        return 0x7fc0
    b = struct.unpack('<I', struct.pack('<f', v))[0] if abs(v) < 3.4e38 or math.isinf(v) else 0x7f800000 | (v < 0) << 31
    return (b + 0x7fff + (b >> 16 & 1)) >> 16


def npy(dtype, shape, data, version=1, descr=None):
    descr = descr or NPY[dtype]
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    head += ' ' * (-(len(head) + 13) % 64) + '\n'
    length = struct.pack('<H' if version == 1 else '<I', len(head))
    if dtype == 'bf16':
        data = [bits_of(dtype, v) for v in data]
    return b'\x93NUMPY' + bytes((version, 0)) + length + head.encode() + struct.pack(f'<{len(data)}{CODES[NPY[dtype]]}', *data)


def read_npy(path):
    with open(path, 'rb') as f:
        raw = f.read()
    n = struct.unpack_from('<H', raw, 8)[0]
    head = raw[10:10 + n].decode()
    descr, shape = re.search(r"'descr': '([^']*)'", head)[1], eval(re.search(r"'shape': (\([^)]*\))", head)[1])
    if (10 + n) % 64 or raw[:8] != b'\x93NUMPY\x01\x00':
        raise ValueError('no .npy file of version 1.0')
    return descr, list(shape), list(struct.unpack(f'<{math.prod(shape)}{CODES[descr]}', raw[10 + n:]))


def safetensors(tensors, tail=b''):
    """tensors: name -> (dtype, shape, bytes)"""
    header, blob = {}, b''
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {'dtype': SAFETENSORS[dtype], 'shape': shape, 'data_offsets': [len(blob), len(blob) + len(raw)]}
        blob += raw
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + blob + tail


class Bench:
    def __init__(self, netc, folder, tally):
        self.netc, self.folder, self.tally = netc, folder, tally

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def run(self, net, *options, limit=60):
        self.write('t.net', net)
        return subprocess.run([self.netc, 'run', 't.net', *options], cwd=self.folder, capture_output=True, text=True, timeout=limit,
                              errors='replace')


def number(v):
    return float(v) if isinstance(v, str) else v


def distance(got, want):
    """Largest difference over the largest finite number wanted; NaN and infinities must agree."""
    top, worst = max((abs(w) for w in want if math.isfinite(w)), default=0) or 1, 0
    for g, w in zip(got, want):
        if g == w or (g != g and w != w):
            continue
        worst = max(worst, abs(g - w) / top) if math.isfinite(g) and math.isfinite(w) else math.inf
    return worst


def test_vectors(b):
    with open(os.path.join(ROOT, 'tests/vectors/vectors.json')) as f:
        cases = json.load(f)
    for case in cases:
        options = ['--output-dir=out']
        for name, t in case['inputs'].items():
            b.write(f'{name}.npy', npy(t['dtype'], t['shape'], [number(v) for v in t['data']]))
            options.append(f'--input={name}={name}.npy')
        done = b.run(case['net'], *options)
        what = case['net'].split('return ')[1].split('\n')[0]
        b.tally.check(done.returncode == 0, f'{what}: exit {done.returncode}: {done.stderr[:200]}')
        for name, t in case['outputs'].items() if done.returncode == 0 else ():
            descr, shape, got = read_npy(b.path(f'out/{name}.npy'))
            want = [number(v) for v in t['data']]
            if t['dtype'] == 'bf16':
                want = [bits_of('bf16', v) for v in want]
            allowed = {'f64': 1e-12, 'f32': 1e-7}.get(t['dtype'], 0)
            b.tally.check(descr == NPY[t['dtype']] and shape == t['shape'] and distance(got, want) <= allowed,
                          f'{what}: {name} is {got[:12]}, PyTorch has {want[:12]} ({distance(got, want):.3g})')


def test_files(b):
    """Every dtype comes out as it went in, from arrays and from weights files."""
    rng = random.Random(2)
    for dtype, descr in NPY.items():
        size = struct.calcsize(CODES[descr])
        for shape in ((), (0,), (3,), (2, 1, 5)):
            n = math.prod(shape)
            if dtype == 'bool':
                raw = bytes(rng.randrange(2) for _ in range(n))
            elif dtype in ('i4', 'u4'):
                raw = bytes((rng.randrange(16) - 8 * (dtype == 'i4')) & 255 for _ in range(n))
            elif dtype in FLOATS:
                raw = struct.pack(f'<{n}{CODES[descr]}', *(rng.randrange(100) for _ in range(n)))     # no NaN
            else:
                raw = rng.randbytes(n * size)
            kind = f'{dtype}{list(shape)}'
            file = npy(dtype, shape, [0] * n)[:-n * size or None] + raw
            for version, source in ((1, file), (2, npy(dtype, shape, [0] * n, 2)[:-n * size or None] + raw)):
                b.write('x.npy', source)
                done = b.run(f'net t(x: {kind}) -> (y: {kind}) {{ return x }}\n', '--input=x=x.npy', '--output-dir=out')
                with open(b.path('out/y.npy'), 'rb') as f:
                    got = f.read()
                b.tally.check(done.returncode == 0 and got[-n * size or len(got):] == raw and read_npy(b.path('out/y.npy'))[:2] == (descr, list(shape)),
                              f'{kind} through .npy version {version}: {done.stderr[:200]}')
            if dtype in SAFETENSORS:
                b.write('w.safetensors', safetensors({'v': ('u8', [3], b'abc'), 'w': (dtype, list(shape), raw)}))
                done = b.run(f'net t(x: {kind}) -> (y: {kind}, z: {kind}) {{\n buffer w: {kind} = zeros\n return w, x }}\n', '--weights=w.safetensors',
                             '--output-dir=out', '-Wno-unused-weight')
                with open(b.path('out/y.npy'), 'rb') as f:
                    got = f.read()
                b.tally.check(done.returncode == 0 and not done.stderr and got[-n * size or len(got):] == raw,
                              f'{kind} through safetensors: {done.stderr[:200]}')


def test_names(b):
    """Results' files: names as they are, nothing left of a failed run, a folder that is made."""
    net = 'net t(x: f32[2]) -> (a: f32[2], b_1: f32[2]) { return x, -x }\n'
    done = b.run(net, '--output-dir=fresh')
    b.tally.check(done.returncode == 0 and sorted(os.listdir(b.path('fresh'))) == ['a.npy', 'b_1.npy'], 'files of results')
    done = b.run('net t(x: i64[1]) -> (y: i64[1], z: i64[1]) { return x, x // (x - x) }\n', '--output-dir=failed')
    b.tally.check(done.returncode == 1 and not os.path.exists(b.path('failed')), 'a failed run leaves no files')
    done = b.run(net, '--output-dir=no/such/folder')
    b.tally.check(done.returncode == 2 and done.stdout == '', 'a folder that cannot be made')


def mutated(rng, data, front):
    """Cut, grown, or some bytes changed, mostly in its front."""
    data = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(data[:rng.randrange(len(data))])
    if kind == 1:
        return bytes(data) + rng.randbytes(rng.randrange(1, 9))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(min(front, len(data)))
        data[at] = rng.choice(b'0123456789[]{}",:\'()<>|-\\\x00\xff') if kind == 2 else rng.randrange(256)
    return bytes(data)


def test_damage(b, count):
    rng = random.Random(3)
    array = npy('f32', (2, 3), range(6))
    weights = safetensors({'w': ('f32', [3], struct.pack('<3f', 1, 2, 3)), 'v': ('i64', [1, 2], struct.pack('<2q', 1, 2))})
    net = 'net t(x: f32[2, 3]) -> (y: f32[2, 3]) {\n param w: f32[3]\n return x * w }\n'
    bad = 0
    for i in range(count):
        b.write('x.npy', mutated(rng, array, 128) if i % 2 else array)
        b.write('w.safetensors', weights if i % 2 else mutated(rng, weights, 160))
        done = b.run(net, '--input=x=x.npy', '--weights=w.safetensors')
        if done.returncode not in (0, 1) or (done.returncode == 1) != ('error: ' in done.stderr):
            bad += 1
            b.tally.check(False, f'damaged file {i}: exit {done.returncode}: {done.stderr[:300]}')
    b.tally.check(bad == 0, f'{bad} damaged files of {count}')
    deep = b'{"w":' * 3000
    b.write('w.safetensors', struct.pack('<Q', len(deep)) + deep)
    done = b.run(net, '--weights=w.safetensors')
    b.tally.check(done.returncode == 1 and 'weights-file' in done.stderr, 'a deeply nested header')


GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def draws(name, seed, n):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    for i in range(n):
        z = (h + seed * GOLDEN + i + GOLDEN) & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield ((z ^ z >> 31) >> 11) * 2.0 ** -53


def test_seed(b):
    net = ('net t(x: f64[2, 3], i: i64[50], t: bool[20], e: i64[4], far: i64[6]) -> (a: f64[2, 3], b: i64[50], c: bool[20], d: f64[4, 2], p: f64[6], '
           'q: f64[4], r: f64[5], s: f64[2, 3, 4], f: f64[6]) {\n'
           ' param p: f64[6] = uniform(-2, 5)\n param q: f64[4] = normal(1, 0.5)\n param r: f64[5] = constant(2.5)\n'
           ' param s: f64[2, 3, 4] = kaiming_uniform(1)\n param table: f64[3, 2] = ones\n'
           ' return x, i, t, embedding(e, 3, 2, weight=table), p, q, r, s, index_select(p, 0, far - 100000) }\n')
    for seed in (0, 12345678901234567890):
        done = b.run(net, f'--seed={seed}', '--output-dir=out')
        b.tally.check(done.returncode == 0, f'seed {seed}: {done.stderr[:300]}')
        want = {'a': [2 * u - 1 for u in draws('x', seed, 6)], 'b': [math.floor(100 * u) for u in draws('i', seed, 50)],
                'c': [math.floor(2 * u) for u in draws('t', seed, 20)], 'd': [1.0] * 8, 'p': [-2 + 7 * u for u in draws('p', seed, 6)],
                'r': [2.5] * 5, 's': [(2 * u - 1) * math.sqrt(2 / (1 + 1)) * math.sqrt(3 / 12) for u in draws('s', seed, 24)]}
        u = list(draws('q', seed, 8))
        want['q'] = [1 + 0.5 * math.sqrt(-2 * math.log(u[2 * k] + 2.0 ** -53)) * math.cos(2 * math.pi * u[2 * k + 1]) for k in range(4)]
        for name, numbers in want.items():
            got = read_npy(b.path(f'out/{name}.npy'))[2]
            b.tally.check(distance(got, numbers) <= 1e-15, f'seed {seed}: {name} is {got[:6]}, not {numbers[:6]}')
        again = b.run(net, f'--seed={seed}')
        b.tally.check(again.stdout == done.stdout and done.stdout.count('\n') == 9, f'seed {seed}: two runs differ')
    other = b.run(net, '--seed=1')
    b.tally.check(other.stdout != done.stdout, 'another seed, the same numbers')


def test_lines(b):
    b.write('x.npy', npy('f32', (3,), [1, math.nan, -2]))
    b.write('i.npy', npy('i64', (2,), [-2 ** 63, 2 ** 63 - 1]))
    done = b.run('net t(x: f32[3], i: i64[2]) -> (y: f32[3], z: f32[3], j: i64[2], s: f16[]) '
                 '{ return x, where(x == x, x, inf), i, cast(amax(i), f16) }\n', '--input=x=x.npy', '--input=i=i.npy')
    b.tally.check(done.stdout == 'y f32[3] nan nan nan\nz f32[3] -2 inf inf\nj i64[2] -9223372036854775808 9223372036854775807 0\n'
                                 's f16[] inf inf inf\n', f'lines of figures: {done.stdout}{done.stderr}')


def test_opsuite(b):
    script = os.path.join(SHARED, 'data/opsuite/run.py')
    if not os.path.exists(script):
        print('[skip] opsuite: it is not beside the project')
        return
    done = subprocess.run([sys.executable, script, '--netc', b.netc, '--backend=ref', '--tight'], capture_output=True, text=True)
    count = re.search(r'opsuite: (\d+) ok, (\d+) failed', done.stdout)
    failed = {line.split(':')[0] for line in done.stdout.split('\n') if re.match(r'\w+/\S+: ', line)}
    b.tally.check(count and int(count[1]) > 300 and int(count[2]) == len(failed), f'opsuite did not finish: {done.stdout[-300:]}{done.stderr[-300:]}')
    b.tally.check(failed <= DECIDED, f'opsuite: {sorted(failed - DECIDED)}: {done.stdout[:1000]}')


def with_numpy():
    """A Python that has numpy, which makes weights twenty times faster, or None."""
    for python in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(python) and subprocess.run([python, '-c', 'import numpy'], capture_output=True).returncode == 0:
            return python
    return None


def test_torchvision(b, names, backend='--backend=ref'):
    python = with_numpy()
    if names and python:
        names += ('resnet18',)
    python = python or sys.executable
    data, tool = os.path.join(SHARED, 'data/reference'), os.path.join(SHARED, 'tools/make_weights.py')
    if not os.path.exists(tool):
        print('[skip] torchvision: the weights and logits are not beside the project')
        return
    known = sorted(f[:-4] for f in os.listdir(os.path.join(data, 'logits')) if f.endswith('.f32'))
    for name in names or known:
        size = 299 if name == 'inception_v3' else 224
        subprocess.run([python, tool, os.path.join(data, f'state_dict/{name}.csv'), b.path('w.safetensors')], check=True)
        subprocess.run([python, tool, '--input', f'input:1x3x{size}x{size}', b.path('x.npy')], check=True)
        done = subprocess.run([b.netc, 'run', os.path.join(ROOT, f'examples/{name}.net'), backend, '--weights=w.safetensors', '--input=x=x.npy', '--output-dir=tv',
                               '-Wno-unused-weight'], cwd=b.folder, capture_output=True, text=True)
        if done.returncode != 0 or done.stderr:
            b.tally.check(False, f'{name}: exit {done.returncode}: {done.stderr[:300]}')
            continue
        with open(os.path.join(data, f'logits/{name}.f32'), 'rb') as f:
            want = list(struct.unpack('<1000f', f.read()))
        off = distance(read_npy(b.path(f'tv/{done.stdout.split()[0]}.npy'))[2], want)
        b.tally.check(off <= TOLERANCE, f'{name} {backend}: off by {off:.3g} of the largest logit')
        os.remove(b.path('w.safetensors'))


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    full, only = '--full' in sys.argv, '--torchvision' in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(os.path.abspath(sys.argv[1]), folder, Tally())
        if not only:
            for test in (test_vectors, test_files, test_names, test_seed, test_lines, test_opsuite):
                test(b)
            test_damage(b, 3000 if full else 600)
        backends = [a for a in sys.argv if a.startswith('--backend=')] or ['--backend=ref']
        for backend in backends:
            test_torchvision(b, None if full or only else FEW, backend)
    print(f'{b.tally.passed} passed, {b.tally.failed} failed')
    return b.tally.failed > 0


if __name__ == '__main__':
    sys.exit(main())
