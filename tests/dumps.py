#!/usr/bin/env python3
"""The dumps in docs/internals.md, docs/run.md and README.md are what this compiler prints.

usage: dumps.py NETC [--bless]     --bless (make docs) writes them anew

A fence "```console" begins with a command, "$ netc ...", which a shell runs in the root of the project; what it prints is the
rest of the fence.
"""
import os, re, shlex, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOOKS = ('docs/internals.md', 'README.md', 'docs/run.md')
FENCE = re.compile(r'^(```console\n\$ (netc [^\n]*)\n)(.*?)^```$', re.M | re.S)


def printed(netc, command):
    script = f'netc() {{ {shlex.quote(netc)} "$@"; }}\n{command}'
    env = dict(os.environ, NO_COLOR='1', LC_ALL='C', COLUMNS='100')
    run = subprocess.run(['sh', '-c', script], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    netc, bless, passed, failed = os.path.abspath(sys.argv[1]), '--bless' in sys.argv[2:], 0, 0
    for book in BOOKS:
        path = os.path.join(ROOT, book)
        with open(path) as f:
            text = f.read()
        fresh = FENCE.sub(lambda m: m[1] + printed(netc, m[2]) + '```', text)
        if bless and fresh != text:
            with open(path, 'w') as f:
                f.write(fresh)
        for old, new in zip(FENCE.findall(text), FENCE.findall(fresh)):
            good = bless or old == new
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f'{book}: "{old[1]}" prints something else now: make docs')
        if not FENCE.search(text):
            print(f'{book}: no dumps')
            failed += 1
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
