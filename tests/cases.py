#!/usr/bin/env python3
"""Cases made from public bug reports of tools that count, infer shapes or plan memory: cases/ID.net, with their answers.

usage: cases.py NETC [ID...]

Left out are parts about forms that only ONNX has (several new axes in one Unsqueeze, Flatten to rank 2, a reduction
over an empty list of axes), about training and about values. B22d is none here either: a name may be bound again.

The answers stand in the program as comments that begin with "#:", one each:
  params N, buffers N, macs N, weights_bytes N     the report's totals
  shape NAME 2x3x4          shape of a value of the source, an input or a result ("scalar" for rank 0)
  arena LEVEL N [align=1] [io=caller]              arena_bytes of --plan=LEVEL at this alignment
  apart A B [LEVEL...]      their bytes are disjoint, at every level or at these
  share LEVEL A B           at this level the two begin at the same byte
  error CODE LINE [WORD]    refused on this line, exit status 1; the message contains WORD. Several codes: any of them
"""
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cases')
LEVELS = ('naive', 'reuse', 'inplace', 'alias', 'full')
TOTALS = {'params': 'params', 'buffers': 'buffer_elements', 'macs': 'macs', 'weights_bytes': 'weights_bytes'}


class Case:
    """One program and its reports, each made once."""

    def __init__(self, netc, name):
        self.netc, self.name, self.reports = netc, name, {}
        with open(os.path.join(HERE, name + '.net')) as f:
            self.wanted = [line[2:].split() for line in f if line.startswith('#:')]

    def run(self, *options):
        return subprocess.run([self.netc, self.name + '.net', *options], cwd=HERE, capture_output=True, text=True)

    def report(self, level='full', align='1', io='caller'):
        key = (level, align, io)
        if key not in self.reports:
            run = self.run('--report=json', '--target=c', f'--plan={level}', f'--align={align}', f'--io={io}')
            if run.returncode != 0:
                raise RuntimeError((run.stderr.strip() or f'exit status {run.returncode}').splitlines()[0])
            self.reports[key] = json.loads(run.stdout)
        return self.reports[key]

    def failures(self):
        if not self.wanted:
            yield 'the program states no answer'
        for words in self.wanted:
            try:
                yield from getattr(self, 'check_' + (words[0] if words[0] not in TOTALS else 'total'))(*words)
            except (RuntimeError, KeyError, ValueError) as problem:
                yield f'{" ".join(words)}: {problem}'

    def check_total(self, what, number):
        got = self.report()['totals'][TOTALS[what]]
        if got != int(number):
            yield f'{what} {got} instead of {number}'

    def check_shape(self, _, name, shape):
        want = [] if shape == 'scalar' else [int(n) for n in shape.split('x')]
        got = tensor(self.report('naive'), name)['shape']
        if got != want:
            yield f'{name} is {got} instead of {want}'

    def check_arena(self, _, level, number, *options):
        got = self.report(level, **dict(option.split('=') for option in options))['totals']['arena_bytes']
        if got != int(number):
            yield f'arena of {" ".join((level,) + options)}: {got} instead of {number}'

    def check_apart(self, _, a, b, *levels):
        for level in levels or LEVELS:
            for io in ('caller', 'arena'):
                doc = self.report(level, io=io)
                first, second = place(doc, a), place(doc, b)
                if first and second and first[0] == second[0] and first[1] < second[2] and second[1] < first[2]:
                    yield f'{a} and {b} overlap at level {level}, io={io}'

    def check_share(self, _, level, a, b):
        doc = self.report(level)
        if place(doc, a) is None or place(doc, a)[:2] != place(doc, b)[:2]:
            yield f'{a} at {place(doc, a)} and {b} at {place(doc, b)} do not share at level {level}'

    def check_error(self, _, codes, line, word=''):
        run = self.run('--report=json', '--message-format=short')
        errors = [text for text in run.stderr.splitlines() if ': error: ' in text]
        first = (errors or [run.stderr.strip() or '(no message)'])[0]
        found = re.match(r'[^:]+:(\d+):\d+: error: (.*) \[([a-z-]+)\]$', first)
        if run.returncode != 1 or run.stdout:
            yield f'exit status {run.returncode} instead of 1: {first}'
        elif not found or found[1] != line or found[3] not in codes.split(',') or word not in found[2]:
            yield f'{codes} on line {line} expected: {first}'


def tensor(doc, name):
    """The value, input or result that the source calls so."""
    outputs = [out for layer in doc['layers'] for out in layer['outputs']]
    for one in outputs + doc['inputs'] + doc['outputs']:
        if one['name'].rsplit('/', 1)[-1] == name:
            return one
    raise KeyError(f'no value is called {name}')


def place(doc, name):
    """(space, first byte, byte after the last) of a value; None if it has no storage (fused, or never made)."""
    buffers = {buffer['id']: buffer for buffer in doc['buffers']}
    try:
        one = tensor(doc, name)
    except KeyError:
        return None
    if one.get('buffer') is None:
        held = [b for b in doc['buffers'] if any(t.rsplit('/', 1)[-1] == name for t in b['tensors'])]
        if not held:
            return None
        buffer, offset = held[0], 0
    else:
        buffer, offset = buffers[one['buffer']], one['byte_offset']
    if buffer['offset'] is None:
        return 'buffer %d' % buffer['id'], offset, offset + one['bytes']
    return 'arena', buffer['offset'] + offset, buffer['offset'] + offset + one['bytes']


def main():
    arguments = [arg for arg in sys.argv[1:] if arg != '--full']
    if not arguments or arguments[0].startswith('-'):
        sys.exit(__doc__)
    netc = os.path.abspath(arguments[0])
    names = arguments[1:] or sorted(f[:-4] for f in os.listdir(HERE) if f.endswith('.net'))
    count = collections.Counter()
    for name in names:
        problems = list(Case(netc, name).failures())
        count[not problems] += 1
        for problem in problems:
            print(f'FAIL cases/{name}.net: {problem}')
    print(f'{count[True]} passed, {count[False]} failed')
    return 1 if count[False] else 0


if __name__ == '__main__':
    sys.exit(main())
