#!/usr/bin/env python3
"""docs/errors.md by its programs: each wrong program gives the code of its section, each right one compiles without it.

usage: messages.py NETC [--full]
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECTION = re.compile(r'^## ([\w-]+)\n(.*?)(?=^## |\Z)', re.M | re.S)
PROGRAM = re.compile(r'^(Wrong|Right):\n\n```(net|ir|csv)([^\n]*)\n(.*?)^```$', re.M | re.S)


def judge(netc, folder, code, verdict, kind, args, text):
    """None, or what is the matter."""
    name = f'{verdict.lower()}.{kind}'
    with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
        f.write(text)
    command = ['plan'] if kind == 'csv' else []
    done = subprocess.run([netc, *command, *args.split(), name], cwd=folder, capture_output=True, text=True, timeout=60)
    found = re.findall(r'\[([\w-]+)\]$', done.stderr, re.M)
    if verdict == 'Wrong':
        return None if code in found and done.returncode in (0, 1, 2) else f'exit {done.returncode}, says {found or done.stderr}'
    return None if done.returncode == 0 and not found else f'exit {done.returncode}\n{done.stderr}'


def main():
    netc, passed, failed = os.path.abspath(sys.argv[1]), 0, 0
    with open(os.path.join(ROOT, 'docs/errors.md'), encoding='utf-8') as f:
        manual = f.read()
    with tempfile.TemporaryDirectory() as folder:
        for code, body in SECTION.findall(manual):
            programs = PROGRAM.findall(body)
            if not programs and 'No short program shows it' not in body:
                print(f'{code}: no program')
                failed += 1
            for verdict, kind, args, text in programs:
                why = judge(netc, folder, code, verdict, kind, args, text)
                if why:
                    print(f'{code}, {verdict.lower()} program: {why}')
                    failed += 1
                else:
                    passed += 1
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
