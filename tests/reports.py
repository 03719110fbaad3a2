#!/usr/bin/env python3
"""The styles of a report carry the same numbers: table, csv and why against json, on the examples at several levels.

usage: reports.py NETC [--full]     --full: every example at every level, target and place of inputs and outputs
"""
import csv, glob, io, itertools, json, os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEVELS = ('naive', 'reuse', 'inplace', 'alias', 'full')
LARGE = {'chain1000', 'densenet121', 'resnet152', 'inception_v3', 'swin_t', 'efficientnet_b0'}


def report(netc, style, path, args):
    out = subprocess.run([netc, f'--report={style}', '--color=never', *args, path], capture_output=True, text=True, timeout=120)
    if out.returncode != 0:
        raise RuntimeError(f'exit {out.returncode}: {out.stderr.strip()[:200]}')
    return out.stdout


def number(text):
    return int(text.replace(',', ''))


def csv_problems(text, doc):
    rows = list(csv.DictReader(io.StringIO(text)))
    totals = {r['name']: int(r['value']) for r in rows if r['row'] == 'total'}
    for name, value in doc['totals'].items():
        if isinstance(value, (int, bool)) and totals.get(name) != int(value):
            yield f'csv: total {name} is {totals.get(name)}, json says {value}'
    layers = [r for r in rows if r['row'] == 'layer']
    for column in ('params', 'buffer_elements', 'macs'):
        s = sum(int(r[column] or 0) for r in layers)
        if s != doc['totals'][column]:
            yield f'csv: {column} add up to {s}, json says {doc["totals"][column]}'
    outputs = [(l, o) for l in doc['layers'] for o in l['outputs'] or [None]]
    if len(outputs) != len(layers):
        yield f'csv: {len(layers)} layer lines for {len(outputs)} tensors'
        return
    for (l, o), r in zip(outputs, layers):
        if r['name'] != l['name'] or o and (r['tensor'], r['bytes'], r['buffer']) != (
                o['name'], str(o['bytes']), '' if o['buffer'] is None else str(o['buffer'])):
            yield f'csv: line {r} is not {l["name"]}, {o}'
    buffers = [(r['buffer'], r['bytes'], r['offset']) for r in rows if r['row'] == 'buffer']
    if buffers != [(str(b['id']), str(b['bytes']), '' if b['offset'] is None else str(b['offset'])) for b in doc['buffers']]:
        yield 'csv: the buffers are not those of json'


def table_problems(text, doc):
    t = doc['totals']
    flat = ' '.join(text.split())                         # items break at the margin
    for pattern, value in ((r'PEAK ([\d,]+) B', t['total_bytes']), (r'= weights ([\d,]+)', t['weights_bytes']),
                           (r'\+ arena ([\d,]+)', t['arena_bytes']), (r' arena ([\d,]+) B', t['arena_bytes']),
                           (r'lower bound ([\d,]+) B', t['bound_bytes']), (r'gap ([\d,]+) B', t['gap_bytes']),
                           (r'naive ([\d,]+) B', t['naive_bytes'])):
        found = re.search(pattern, flat)
        if not found or number(found[1]) != value:
            yield f'table: {pattern} gives {found and found[1]}, json says {value}'
    if ('proven)' in text and 'not proven)' not in text) != t['proven']:
        yield 'table: says something else about the proof'
    total = re.search(r'^ *TOTAL +([\d,-]+) +([\d,-]+)', text, re.M)
    have = [0 if x == '-' else number(x) for x in total.groups()] if total else None
    if have != [t['params'], t['macs']]:
        yield f'table: TOTAL is {have}, json says {t["params"]} {t["macs"]}'
    wide = [l for l in text.splitlines() if len(l) > 100]
    if wide:
        yield f'table: {len(wide)} lines are wider than 100 columns: {wide[0]!r}'


def why_problems(text, doc):
    alive = text.partition('  = live peak')[0].rpartition('\n')[0]
    lines = re.findall(r'^ +([\d,]+)  ', alive, re.M)
    s = sum(number(x) for x in lines) - sum(number(x) for x in re.findall(r'^ +-([\d,]+)  ', alive, re.M))
    if s != doc['totals']['live_peak_bytes']:
        yield f'why: the tensors add up to {s}, the live peak is {doc["totals"]["live_peak_bytes"]}'
    if len(lines) != len(doc['peak']['tensors']):
        yield f'why: {len(lines)} tensors, json lists {len(doc["peak"]["tensors"])}'


def budget_problems(netc, path, args, doc):
    need = doc['totals']['total_bytes']
    for budget, status in ((need, 0), (need - 1, 1)):
        if budget <= 0:
            continue
        out = subprocess.run([netc, f'--budget={budget}B', *args, path], capture_output=True, text=True, timeout=120)
        if out.returncode != status:
            yield f'--budget={budget}B: exit {out.returncode}, not {status}'
        if ('[over-budget]' in out.stderr) != (status == 1):
            yield f'--budget={budget}B: the diagnostic and the status disagree'


def problems(netc, path, args):
    doc = json.loads(report(netc, 'json', path, args))
    yield from csv_problems(report(netc, 'csv', path, args), doc)
    yield from table_problems(report(netc, 'table', path, args), doc)
    yield from why_problems(report(netc, 'why', path, args), doc)
    yield from budget_problems(netc, path, args, doc)


def main():
    netc, full = os.path.abspath(sys.argv[1]), '--full' in sys.argv[2:]
    passed = failed = 0
    os.chdir(ROOT)
    paths = sorted(glob.glob('examples/*.net'))
    for path in paths:
        name = os.path.basename(path)[:-4]
        runs = [('--plan=full', '--target=cuda', '--io=caller')]
        if full:
            runs = [(f'--plan={a}', f'--target={b}', f'--io={c}')
                    for a, b, c in itertools.product(LEVELS, ('cuda', 'c'), ('caller', 'arena'))]
        elif name in ('lenet', 'resnet18', 'squeezenet1_1'):
            runs += [('--plan=naive', '--target=c', '--io=caller'), ('--plan=alias', '--target=c', '--io=arena')]
        elif name in LARGE:
            continue
        for args in runs:
            try:
                found = list(problems(netc, path, args))
            except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as e:
                found = [str(e)]
            for line in found[:5]:
                print(f'{path} {" ".join(args)}: {line}')
            passed += not found
            failed += bool(found)
    if not paths:
        print('no examples')
        failed += 1
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
