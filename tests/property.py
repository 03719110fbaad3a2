#!/usr/bin/env python3
"""property.py NETC [--full] - properties of the compiler over random networks (tests/gen).

In one process (check_random): every generated program compiles, every plan verifies, levels never get worse, IR reads back.
From outside, on fewer seeds: json, csv and table carry the same numbers, totals are the sums of the rows, a level named on the
command line is never worse than the one before, --emit=ir reads back to itself, and check_report.py agrees where it is there.
The last line is `N passed, N failed`.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CHECK_REPORT = os.path.join(HERE, "..", "..", "shared", "tools", "check_report.py")
LEVELS = ["naive", "reuse", "inplace", "alias", "full"]
STYLES = ["cnn", "transformer", "mixed"]
SHARDS = 2


class Wrong(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Wrong(text)


def output(args, **more):
    done = subprocess.run(args, capture_output=True, text=True, **more)
    require(done.returncode == 0, f"exit status {done.returncode}: {' '.join(args[1:])}\n{done.stderr[:800]}")
    return done.stdout


def compare_csv(report, text):
    rows = list(csv.DictReader(io.StringIO(text)))
    totals = {r["name"]: r["value"] for r in rows if r["row"] == "total"}
    for name, value in report["totals"].items():
        if isinstance(value, int) and not isinstance(value, bool):
            require(totals.get(name) == str(value), f"csv says {name} {totals.get(name)}, json {value}")
    for column, total in (("params", "params"), ("macs", "macs"), ("buffer_elements", "buffer_elements")):
        s = sum(int(r[column] or 0) for r in rows if r["row"] == "layer")
        require(s == report["totals"][total], f"csv's {column} add up to {s}, not {report['totals'][total]}")
    buffers = {int(r["buffer"]): r for r in rows if r["row"] == "buffer"}
    require(len(buffers) == len(report["buffers"]), "csv and json have other buffers")
    for b in report["buffers"]:
        r = buffers[b["id"]]
        offset = int(r["offset"]) if r["offset"] else None
        got = (int(r["bytes"]), offset, int(r["first"]), int(r["last"]))
        require(got == (b["bytes"], b["offset"], b["first"], b["last"]), f"csv and json differ in buffer {b['id']}")


def compare_table(report, text):
    total = next((line for line in text.splitlines() if re.match(r"\s*TOTAL\b", line)), "")
    figures = [int(w.replace(",", "")) for w in total.split()[1:] if re.fullmatch(r"[\d,]+", w)]
    t = report["totals"]
    wanted = [n for n in (t["params"], t["macs"]) if n]
    require(figures[:len(wanted)] == wanted, f"the table's totals are {figures}, json has {wanted}")
    for name in ("arena_bytes", "bound_bytes", "naive_bytes"):
        require(f"{t[name]:,}" in text, f"the table does not show {name} {t[name]:,}")


def check_sums(report):
    t = report["totals"]
    for name in ("params", "macs"):
        s = sum(layer[name] for layer in report["layers"])
        require(s == t[name], f"{name}: the layers add up to {s}, the total is {t[name]}")
    require(t["naive_bytes"] >= t["arena_bytes"] >= t["live_peak_bytes"] >= t["bound_bytes"], "totals are out of order")
    require(t["gap_bytes"] == t["arena_bytes"] - t["bound_bytes"], "the gap is not arena - bound")


def check_seed(netc, randnet, seed, folder):
    source, dump = os.path.join(folder, "t.net"), os.path.join(folder, "t.ir")
    with open(source, "w", encoding="utf-8") as f:
        f.write(output([randnet, str(seed), f"--size={3 + seed % 40}", f"--style={STYLES[seed % 3]}"]))
    options = [f"--target={['cuda', 'c'][seed // 3 % 2]}", f"--io={['caller', 'arena'][seed // 6 % 2]}"]
    text = output([netc, source, "--report=json"] + options)
    report = json.loads(text)
    check_sums(report)
    compare_csv(report, output([netc, source, "--report=csv"] + options))
    compare_table(report, output([netc, source, "--report=table"] + options))
    reports = [output([netc, source, "--report=json", f"--plan={level}"] + options) for level in LEVELS]
    arenas = [json.loads(r)["totals"]["arena_bytes"] for r in reports]
    require(arenas == sorted(arenas, reverse=True), f"the arenas of {' '.join(LEVELS)} are {arenas}")
    printed = output([netc, source, "--emit=ir"] + options)
    with open(dump, "w", encoding="utf-8") as f:
        f.write(printed)
    require(output([netc, dump, "--emit=ir"]) == printed, "the printed IR reads back as another one")
    if os.path.exists(CHECK_REPORT):
        done = subprocess.run([sys.executable, CHECK_REPORT, "--quiet"], input=text, capture_output=True, text=True)
        require(done.returncode == 0, f"check_report.py: {(done.stdout + done.stderr)[:800]}")


def in_process(netc, count):
    """Runs check_random on `count` seeds in a few processes at once; the sums of what passed and failed."""
    program = os.path.join(os.path.dirname(netc), "tests", "gen", "check_random")
    each = count // SHARDS
    running = [subprocess.Popen([program, f"--first={1 + i * each}", f"--count={each}"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True) for i in range(SHARDS)]
    passed = failed = 0
    for p in running:
        lines = p.communicate()[0].splitlines() or [""]
        m = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1])
        if not m:
            print("\n".join(lines[-10:]) + f"\ncheck_random ended with status {p.returncode}")
        passed, failed = passed + (int(m[1]) if m else 0), failed + (int(m[2]) if m else 1)
        print("\n".join(lines[:-1][:40]), end="\n" if len(lines) > 1 else "")
    return passed, failed


def main():
    netc, full = os.path.abspath(sys.argv[1]), "--full" in sys.argv[2:]
    randnet = os.path.join(os.path.dirname(netc), "tests", "gen", "randnet")
    passed, failed = in_process(netc, 10000 if full else 300)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, (300 if full else 24) + 1):
            try:
                check_seed(netc, randnet, seed, folder)
                passed += 1
            except Wrong as e:
                failed += 1
                print(f"seed {seed}: {e}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
