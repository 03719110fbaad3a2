#!/usr/bin/env python3
"""Every JSON that netc prints, against its schema in docs/: diagnostics of all tests in error/, reports of all examples.

usage: schemas.py NETC [--full]     the validator knows the part of JSON Schema that the schemas use, and refuses the rest
"""
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'null': type(None)}
NOTES = {'$schema', '$id', '$defs', 'title', 'description', '$comment'}


def has_type(value, name):
    if name in ('integer', 'number'):
        return isinstance(value, int if name == 'integer' else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(value, schema, root, path='$'):
    """What is wrong with the value, as lines."""
    for key, rule in schema.items():
        if key in NOTES:
            continue
        if key == '$ref':
            target = root
            for part in rule.lstrip('#/').split('/'):
                target = target[part]
            yield from problems(value, target, root, path)
        elif key == 'type':
            if not any(has_type(value, t) for t in (rule if isinstance(rule, list) else [rule])):
                yield f'{path}: {value!r} is not {rule}'
        elif key == 'enum':
            if value not in rule:
                yield f'{path}: {value!r} is not one of {rule}'
        elif key == 'const':
            if value != rule:
                yield f'{path}: {value!r} is not {rule!r}'
        elif key == 'minimum':
            if has_type(value, 'number') and value < rule:
                yield f'{path}: {value} is below {rule}'
        elif key in ('minItems', 'maxItems'):
            if isinstance(value, list) and (len(value) < rule if key == 'minItems' else len(value) > rule):
                yield f'{path}: {len(value)} items'
        elif key == 'required':
            for name in rule if isinstance(value, dict) else []:
                if name not in value:
                    yield f'{path}: no {name}'
        elif key == 'properties':
            for name, sub in rule.items() if isinstance(value, dict) else []:
                if name in value:
                    yield from problems(value[name], sub, root, f'{path}.{name}')
        elif key == 'additionalProperties':
            for name in value if isinstance(value, dict) else []:
                if name not in schema.get('properties', {}):
                    if rule is False:
                        yield f'{path}: {name} is not in the schema'
                    elif isinstance(rule, dict):
                        yield from problems(value[name], rule, root, f'{path}.{name}')
        elif key == 'items':
            for i, item in enumerate(value if isinstance(value, list) else []):
                yield from problems(item, rule, root, f'{path}[{i}]')
        elif key in ('oneOf', 'anyOf'):
            tries = [list(problems(value, sub, root, path)) for sub in rule]
            if all(tries):
                yield from min(tries, key=len)
        else:
            yield f'the schema says {key}, which this validator does not know'


def run(netc, *args):
    return subprocess.run([netc, *args], capture_output=True, text=True, timeout=120)


def first_args(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        line = f.readline()
    return line[8:].split() if line.startswith('# args: ') else []


def check(name, texts, schema):
    found = []
    for text in texts:
        try:
            found += problems(json.loads(text), schema, schema)
        except ValueError as e:
            found.append(f'not JSON: {e}')
    for line in found[:5]:
        print(f'{name}: {line}')
    return not found


def main():
    netc = os.path.abspath(sys.argv[1])
    results = []
    with open(os.path.join(ROOT, 'docs/diagnostic.schema.json'), encoding='utf-8') as f:
        schema = json.load(f)
    os.chdir(os.path.join(ROOT, 'tests/error'))
    for program in sorted(glob.glob('*.net')):
        err = run(netc, '--message-format=json', *first_args(program), program).stderr
        results.append(check(program, err.splitlines(), schema))
    os.chdir(ROOT)
    with open('docs/report.schema.json', encoding='utf-8') as f:
        schema = json.load(f)
    for program in sorted(glob.glob('examples/*.net')):
        results.append(check(program, [run(netc, '--report=json', program).stdout], schema))
    print(f'{sum(results)} passed, {len(results) - sum(results)} failed')
    return not all(results)


if __name__ == '__main__':
    sys.exit(main())
