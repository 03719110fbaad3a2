#!/usr/bin/env python3
"""Rules of the house that a compiler does not check: who may include whom, widths and lengths of files, words that must not occur,
every diagnostic documented and shown, every option in its place.

usage: house.py [NETC] [--full] [--only=RULE]     one line for each violation, then `N passed, N failed`
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = {  # who a room may include, besides itself
    'base': [],
    'ir': ['base'],
    'ops': ['base', 'ir'],
    'grammar': ['base', 'frontend'],
    'frontend': ['base', 'ir', 'ops', 'grammar'],
    'passes': ['base', 'ir', 'ops'],
    'backend': ['base', 'ir', 'ops'],
    'cli': ['base', 'ir', 'ops', 'frontend', 'passes', 'backend'],
    'main.c': ['base', 'ir', 'ops', 'frontend', 'passes', 'backend', 'cli'],
    'tools': [],
}
# The reader of printed IR checks it by the rules of the operators, and graph_check infers as they do.
EXCEPTIONS = {('ir/parse.c', 'ops'), ('ir/check.c', 'ops'), ('ir/parse_plan.c', 'ops'), ('ir/print.c', 'ops'), ('ir/ir.c', 'ops')}
WIDTH, HARD_WIDTH, LINES = 120, 150, 600
FORBIDDEN = re.compile(r'\b(TODO|FIXME|(?i:stub|placeholder|not implemented))\b')


def sources():
    """C files, scanners and grammars of the project, by path."""
    names = []
    for folder, inside, files in os.walk(ROOT):
        inside[:] = sorted(d for d in inside if not d.startswith(('build', '.')))
        names += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files if f.endswith(('.c', '.h', '.l', '.y'))]
    return {n: read(n) for n in sorted(names)}


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as f:
        return f.read()


def rule_layers():
    for name, text in sources().items():
        room = name.split('/')[0]
        if room not in ROOMS:
            continue
        for target in re.findall(r'^#include "([^"]+)"', text, re.M):
            other = target.split('/')[0]
            if other not in ROOMS or other == room or other in ROOMS[room]:
                continue
            if (name, other) not in EXCEPTIONS:
                yield f'{name} includes {target}: {room} may use {", ".join(ROOMS[room]) or "nothing else"}'


def rule_width():
    for name, text in sources().items():
        for i, line in enumerate(text.split('\n'), 1):
            if len(line) > HARD_WIDTH:
                yield f'{name}:{i}: {len(line)} columns'


def rule_80():
    """Only on demand: what is wider than it should be."""
    for name, text in sources().items():
        for i, line in enumerate(text.split('\n'), 1):
            if len(line) > WIDTH:
                yield f'{name}:{i}: {len(line)} columns'


def rule_files():
    for name, text in sources().items():
        if text.count('\n') > LINES:
            yield f'{name}: {text.count(chr(10))} lines'
        if not re.match(r'(%option[^\n]*\n|%\{\n)*/\* ', text):
            yield f'{name}: does not begin with what it is'
        if '\t' in re.sub(r'"(\\.|[^"])*"', '', text) and not name.endswith(('.l', '.y')):
            yield f'{name}: has tabs'
        if re.search(r'[ \t]$', text, re.M):
            yield f'{name}: has blanks at the end of a line'


def rule_words():
    for name, text in sources().items():
        for i, line in enumerate(text.split('\n'), 1):
            if FORBIDDEN.search(line):
                yield f'{name}:{i}: {line.strip()}'


def rule_memory():
    """Memory comes from arenas: nobody but base/ calls the allocator. No function keeps state between calls."""
    for name, text in sources().items():
        room = name.split('/')[0]
        if room in ROOMS and room not in ('base', 'tools') and not name.endswith(('gen_table.c', 'gen_docs.c')):
            for call in re.findall(r'\b((?:m|c|re)alloc|free|strdup)\(', text):
                yield f'{name}: calls {call}'
            for i, line in enumerate(text.split('\n'), 1):
                if re.match(r'\s*static (?!const\b|inline\b|void\b)[^()=]*\b\w+(\[[^\]]*\])*\s*(=|;)', line) and '* const' not in line \
                        and '*const' not in line:
                    yield f'{name}:{i}: a variable that outlives its call: {line.strip()}'


def rule_stderr():
    for name, text in sources().items():
        room = name.split('/')[0]
        if room in ROOMS and room != 'tools' and name != 'base/diag.c' and not name.endswith(('gen_table.c', 'gen_docs.c')):
            if re.search(r'\bstderr\b|\bSTDERR_FILENO\b(?!\))', text):
                yield f'{name}: speaks on standard error; that is base/diag.c\'s'


def codes():
    return re.findall(r'^DIAG\(\w+,\s*"([\w-]+)"', read('base/diag.def'), re.M)


def rule_diagnostics():
    """Each code has a section in docs/errors.md and is shown by a test."""
    manual = set(re.findall(r'^## ([\w-]+)$', read('docs/errors.md'), re.M))
    shown = set()
    for folder in ('error', 'cli'):
        path = os.path.join(ROOT, 'tests', folder)
        for f in os.listdir(path):
            if f.endswith(('.err', '.out')):
                shown |= set(re.findall(r'\[([\w-]+)\]$', read(f'tests/{folder}/{f}'), re.M))
    for code in codes():
        if code not in manual:
            yield f'docs/errors.md has no section on {code}'
        if code not in shown:
            yield f'no test in tests/error shows [{code}]'
    for code in sorted(manual - set(codes())):
        yield f'docs/errors.md has a section on {code}, which is no code'


def rule_makefile():
    """The Makefile lists every source of the compiler."""
    text = read('Makefile').replace('\\\n', ' ')
    for name in sources():
        room, _, rest = name.partition('/')
        if room in ROOMS and name.endswith('.c') and room not in ('tools', 'main.c') and not name.endswith(('gen_table.c', 'gen_docs.c')):
            listed = re.search(rf'^{room.upper()}\s*=(.*)$', text, re.M)
            if not listed or rest not in listed[1].split():
                yield f'{name} is not in the Makefile'


def main():
    only = [a[7:] for a in sys.argv[1:] if a.startswith('--only=')]
    rules = {n[5:]: f for n, f in globals().items() if n.startswith('rule_')}
    failed = 0
    names = only or [n for n in rules if n != '80']
    for name in names:
        broken = list(rules[name]())
        for line in broken:
            print(f'{name}: {line}')
        failed += bool(broken)
    print(f'{len(names) - failed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
