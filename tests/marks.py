#!/usr/bin/env python3
"""How much memory the plans of the examples take: no plan may become worse than marks.csv says.

usage: marks.py NETC [--full] [--bless]

Each example is planned at batch 1 for --target=c with the inputs and results outside of the arena. A row of marks.csv:
  file      the example
  mark      bytes the arena must not exceed: the best that any planner is known to need for it, or the bound that these
            plans have met; empty where there is none
  arena, live_peak, bound     what the planner reached. "proven" in a report is arena = bound
The arena may be smaller than recorded, never larger; it may never be above the mark, nor may a report call a plan
proven that is above its bound. --bless records what is reached now (a mark is never changed). The levels are compared
too, with --full for both targets: a later one is never worse, and naive >= arena >= live peak >= bound everywhere."""
import concurrent.futures
import csv
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, 'tests', 'marks.csv')
LEVELS = ('naive', 'reuse', 'inplace', 'alias', 'reorder', 'full')
REACHED = ('arena', 'live_peak', 'bound')


def totals(netc, file, target='c', level='full'):
    command = [netc, file, '--report=json', f'--target={target}', f'--plan={level}']
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError((run.stderr.strip() or f'exit status {run.returncode}').splitlines()[0])
    return json.loads(run.stdout)['totals']


def inconsistent(t):
    order = ('naive_bytes', 'arena_bytes', 'live_peak_bytes', 'bound_bytes')
    if any(t[a] < t[b] for a, b in zip(order, order[1:])):
        return ' >= '.join(f'{name[:-6]} {t[name]}' for name in order) + ' does not hold'
    if t['proven'] != (t['arena_bytes'] == t['bound_bytes']) or t['gap_bytes'] != t['arena_bytes'] - t['bound_bytes']:
        return f'proven {t["proven"]}, gap {t["gap_bytes"]}, but arena {t["arena_bytes"]} and bound {t["bound_bytes"]}'
    return None


def check(netc, row, bless):
    """The problems of one row; with bless the row is brought up to date instead."""
    try:
        t = totals(netc, row['file'])
    except RuntimeError as problem:
        return [str(problem)]
    problems = [inconsistent(t)] if inconsistent(t) else []
    arena = t['arena_bytes']
    if row['mark'] and arena > int(row['mark']):
        problems.append(f'arena {arena:,} is above the mark {int(row["mark"]):,}')
    if bless:
        row.update({name: t[name + '_bytes'] for name in REACHED})
    elif arena > int(row['arena']):
        problems.append(f'arena {arena:,} is larger than {int(row["arena"]):,}')
    return problems


def check_levels(netc, file, target):
    problems, before = [], None
    for level in LEVELS:
        try:
            t = totals(netc, file, target, level)
        except RuntimeError as problem:
            return problems + [f'{target}, {level}: {problem}']
        if inconsistent(t):
            problems.append(f'{target}, {level}: {inconsistent(t)}')
        if before is not None and t['arena_bytes'] > before:
            problems.append(f'{target}: {level} needs {t["arena_bytes"]:,}, the level before {before:,}')
        before = t['arena_bytes']
    return problems


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    netc, bless = os.path.abspath(sys.argv[1]), '--bless' in sys.argv
    with open(TABLE, newline='') as f:
        rows = list(csv.DictReader(f))
    files = sorted('examples/' + f for f in os.listdir(os.path.join(ROOT, 'examples')) if f.endswith('.net'))
    results = [(file, ['has no row in marks.csv']) for file in files if file not in [row['file'] for row in rows]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results += zip([row['file'] for row in rows], pool.map(lambda row: check(netc, row, bless), rows))
        targets = ('c', 'cuda') if '--full' in sys.argv else ('c',)
        pairs = [(file, target) for file in files for target in targets]
        results += zip([file for file, _ in pairs], pool.map(lambda pair: check_levels(netc, *pair), pairs))
    if bless:
        with open(TABLE, 'w', newline='') as f:
            table = csv.DictWriter(f, ('file', 'mark') + REACHED, lineterminator='\n')
            table.writeheader()
            table.writerows(rows)
    for file, problems in results:
        for problem in problems:
            print(f'FAIL {file}: {problem}')
    failed = sum(bool(problems) for _, problems in results)
    print(f'{len(results) - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
