#!/usr/bin/env python3
"""Exactness: parameters, buffers and MACs of known networks against published and measured numbers.

usage: exact.py NETC [WORD...]        only rows whose file or arguments contain every WORD

Prints one table, a row for each network, with the difference to what exact/*.csv expects, which must be 0 everywhere:
  exact/torchvision.csv   measured with torchvision on fp32 and batches of the row
  exact/micronets.csv     small enough to check by hand; an empty cell is not compared
  exact/transformers.csv  parameter counts of published configurations
The column "tensors" is --emit=weights-list against exact/state_dict.csv: how many stored tensors, and a hash of their
names, dtypes and shapes, which are torchvision's own ("order any": as a set). Where the lists themselves lie beside
the project, the first tensor that differs is named. Exit status 1 if anything differs. Standard library only."""
import concurrent.futures
import csv
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LISTS = os.path.join(ROOT, '..', 'shared', 'data', 'reference', 'state_dict')
TABLES = ('torchvision', 'micronets', 'transformers')
COUNTS = ('params', 'buffer_elements', 'macs')


def read(table):
    with open(os.path.join(ROOT, 'tests', 'exact', table + '.csv'), newline='') as f:
        return list(csv.DictReader(f))


def netc(binary, row, *options):
    """Standard output of one run, or raises RuntimeError with the compiler's message."""
    dims = [word for arg in row['args'].split() for word in ('-D', arg)]
    run = subprocess.run([binary, row['file'], *dims, *options], cwd=ROOT, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError((run.stderr.strip().splitlines() or ['exit status %d' % run.returncode])[0])
    return run.stdout


def counted(binary, row):
    """(cells of the table, whether all are equal) for a row of numbers."""
    try:
        totals = json.loads(netc(binary, row, '--report=json'))['totals']
    except (RuntimeError, ValueError, KeyError) as problem:
        return [str(problem)], False
    cells, good = [], True
    for name in COUNTS:
        got = totals[name]
        off = got - int(row[name]) if row[name] else None
        good = good and not off
        cells += [f'{got:,}', '' if off is None else f'{off:+,}' if off else '0']
    return cells, good


def first_difference(row, lines):
    path = os.path.join(LISTS, os.path.basename(row['file'])[:-4] + '.csv')
    if not os.path.exists(path):
        return 'the lists differ'
    with open(path) as f:
        want = f.read().splitlines()[1:]
    if row['order'] == 'any':
        want.sort()
    for a, b in zip(lines + [None], want + [None]):
        if a != b:
            return f'{a} instead of {b}'
    return 'the lists differ in length'


def listed(binary, row):
    """(cell, whether it is equal) for a row of state_dict.csv."""
    try:
        lines = netc(binary, row, '--emit=weights-list').splitlines()
    except RuntimeError as problem:
        return str(problem), False
    if lines and lines[0] == 'name,dtype,shape':
        lines = lines[1:]
    if row['order'] == 'any':
        lines.sort()
    digest = hashlib.sha256(''.join(line + '\n' for line in lines).encode()).hexdigest()
    if len(lines) == int(row['tensors']) and digest == row['sha256']:
        return row['tensors'], True
    return f'{len(lines)} of {row["tensors"]}: {first_difference(row, lines)}', False


def main():
    arguments = [arg for arg in sys.argv[1:] if arg != '--full']    # the whole table is short enough for every run
    if not arguments or arguments[0].startswith('-'):
        sys.exit(__doc__)
    binary, words = os.path.abspath(arguments[0]), arguments[1:]
    wanted = lambda row: all(word in row['file'] + ' ' + row['args'] for word in words)
    rows = [row for table in TABLES for row in read(table) if wanted(row)]
    lists = [row for row in read('state_dict') if wanted(row)]
    if not rows and not lists:
        sys.exit('exact.py: no row contains ' + ' '.join(words))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        numbers = list(pool.map(lambda row: counted(binary, row), rows))
        tensors = list(pool.map(lambda row: listed(binary, row), lists))

    form = '{:<34} {:<44} {:>15} {:>5} {:>9} {:>5} {:>19} {:>5}'
    print(form.format('network', 'arguments', 'params', 'off', 'buffers', 'off', 'macs', 'off'))
    for row, (cells, good) in zip(rows, numbers):
        name = row['file'].replace('examples/', '').replace('.net', '')
        print(form.format(name, row['args'], *cells) if len(cells) == 6 else f'{name:<34} {row["args"]:<44} {cells[0]}')
    print('\n{:<34} {}'.format('network', 'stored tensors, as torchvision names them'))
    for row, (cell, good) in zip(lists, tensors):
        print('{:<34} {}'.format(row['file'].replace('examples/', '').replace('.net', ''), cell))
    failed = sum(not good for _, good in numbers + tensors)
    print(f'\n{len(rows) + len(lists) - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
