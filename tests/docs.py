#!/usr/bin/env python3
"""docs/language.md against the compiler: signatures and examples.

usage: docs.py NETC [--bless]

A fence "```ops FAMILY" must list the signatures of that family of ir/op.def, in its order, and every family must have
one; --bless writes them anew. A fence "```net" is a whole program, which must compile without a warning."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MANUAL = os.path.join(ROOT, 'docs', 'language.md')
LINE = re.compile(r'OP\(\w+, "(\w+)", (\w+), ([^,]*), "((?:[^"\\]|\\.)*)"\)')
FENCE = re.compile(r'^```(\w+) ?(\w*)\n(.*?)^```\n', re.M | re.S)


def signatures():
    """family -> text of its fence."""
    families = {}
    with open(os.path.join(ROOT, 'ir', 'op.def')) as f:
        for name, family, flags, arguments in LINE.findall(f.read()):
            wish = ', inplace: bool = none' if 'WISH' in flags.split(' | ') else ''
            arguments = arguments.replace('\\"', '"')
            families[family] = families.get(family, '') + f'{name}({arguments}{wish})\n'
    return families


def check_program(netc, text):
    run = subprocess.run([netc, '-', '--report=json'], input=text, capture_output=True, text=True)
    return run.returncode == 0 and not run.stderr, run.stderr


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    netc, families = os.path.abspath(sys.argv[1]), signatures()
    with open(MANUAL) as f:
        manual = f.read()
    if '--bless' in sys.argv:
        fresh = lambda m: f'```ops {m[2]}\n{families[m[2]]}```\n' if m[1] == 'ops' else m[0]
        with open(MANUAL, 'w') as f:
            f.write(FENCE.sub(fresh, manual))
        return 0
    passed, failed, seen = 0, 0, set()
    for kind, family, text in FENCE.findall(manual):
        if kind == 'ops':
            seen.add(family)
            good, why = text == families.get(family), f'{family} differs from ir/op.def: run docs.py --bless'
        elif kind == 'net':
            good, why = check_program(netc, text)
        else:
            continue
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f'FAIL docs/language.md: {kind} {family}: {why.strip()}')
    for family in sorted(set(families) - seen):
        failed += 1
        print(f'FAIL docs/language.md: no signatures of {family}')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
