#!/usr/bin/env python3
"""emit.py NETC [--full] - generated C against the reference evaluator (tests/emit/harness.h says what is checked).

Random networks, emit/*.net and examples made small, at every level, many in one file: compiled by gcc and by clang with every
warning an error, as they are and with NETC_POISON. With --full hundreds of random networks, and the address and undefined
behaviour sanitizers. The last line is `N passed, N failed`.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
WAYS = [["-O1"], ["-O0", "-DNETC_POISON"], ["-O0"]]
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SMALL = ["gpt2.net:VOCAB=100,CONTEXT=16,T=8,D=24,LAYERS=2,HEADS=3", "bert_base.net:VOCAB=100,D=24,LAYERS=2,HEADS=3,T=8",
         "llama2_7b.net:VOCAB=100,D=32,HIDDEN=48,LAYERS=2,HEADS=4,KV_HEADS=2,T=8", "lstm_tagger.net:VOCAB=50,T=6", "lenet.net",
         "mlp.net"]
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def emit(netc, folder, args):
    tool = os.path.join(os.path.dirname(netc), "tests", "gen", "emit_random")
    done = subprocess.run([tool, folder] + args, capture_output=True, text=True)
    return done.stderr[-2000:] if done.returncode else ""


def check(folder, compiler, flags):
    """Compiles all networks of the folder and runs them; the counts of passed and failed, and what was printed."""
    program = os.path.join(folder, "run-" + compiler + "-" + re.sub(r"\W", "", "".join(flags)))
    done = subprocess.run([compiler] + STRICT + flags + ["-I", ROOT, "-I", folder, "-o", program,
                                                         os.path.join(folder, "all.c"), "-lm"], capture_output=True, text=True)
    if done.returncode:
        return 0, 1, f"{compiler}: {done.stderr[:3000]}"
    done = subprocess.run([program], capture_output=True, text=True, cwd=folder)
    counts = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    if not counts:
        return 0, 1, f"{program}: exit status {done.returncode}: {done.stdout[-1500:]}{done.stderr[-500:]}"
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    return int(counts.group(1)), int(counts.group(2)), "\n".join(f"{compiler} {' '.join(flags)}: {line}" for line in lines[:20])


def job(netc, args, compiler, flags):
    with tempfile.TemporaryDirectory() as folder:
        trouble = emit(netc, folder, args)
        if trouble:
            return 0, 1, f"emit_random {' '.join(args)}: {trouble}"
        return check(folder, compiler, flags)


def detects(netc):
    """A network whose code stores one value 64 bytes from its place must fail: the harness can."""
    with tempfile.TemporaryDirectory() as folder:
        trouble = emit(netc, folder, [os.path.join(ROOT, "examples", "lenet.net")])
        path = os.path.join(folder, "n0_full.c")
        with open(path) as f:
            text = f.read()
        moved, n = re.subn(r"(store_f32\(RUN->arena) \+ (\d+)", lambda m: f"{m[1]} + {int(m[2]) + 64}", text, count=1)
        with open(path, "w") as f:
            f.write(moved)
        passed, failed, text = check(folder, "gcc" if shutil.which("gcc") else "clang", ["-O0"])
        if trouble or n != 1 or passed != 5 or failed == 0:
            return 0, 1, f"a store that was moved goes unnoticed: {passed} passed, {failed} failed {trouble}{text}"
        return 1, 0, ""


# Cases that the language reads otherwise (tests/run.py has them too).
DECIDED = {"seq/multihead_attention-04"}


def opsuite(netc):
    """The conformance suite of single operators through generated C, where it lies beside the project."""
    script = os.path.join(ROOT, "..", "shared", "data", "opsuite", "run.py")
    if not os.path.exists(script):
        return 0, 0, "[skip] opsuite: it is not beside the project"
    done = subprocess.run([sys.executable, script, "--netc", netc, "--backend=c"], capture_output=True, text=True,
                          env=dict(os.environ, CFLAGS="-O1"))
    failed = {line.split(":")[0] for line in done.stdout.split("\n") if re.match(r"\w+/\S+: ", line)}
    counts = re.search(r"opsuite: (\d+) ok, (\d+) failed", done.stdout)
    if not counts or int(counts[1]) < 300 or failed - DECIDED:
        return 0, 1, f"opsuite: {sorted(failed - DECIDED)} {done.stdout[-500:]}{done.stderr[-300:]}"
    return int(counts[1]), 0, ""


def main():
    netc, full = os.path.abspath(sys.argv[1]), "--full" in sys.argv[2:]
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
    jobs = []
    for i in range(60 if full else 3):
        jobs.append(([f"--first={i * 5}", "--count=5"], compilers[i % len(compilers)], WAYS[i % len(WAYS)]))
    for i, files in enumerate([[os.path.join(HERE, "emit", f) for f in sorted(os.listdir(os.path.join(HERE, "emit"))) if f.endswith(".net")],
                               [os.path.join(ROOT, "examples", f) for f in SMALL]]):
        jobs.append((files, compilers[i % len(compilers)], WAYS[i % len(WAYS)]))
        if full:
            jobs.append((files, compilers[-1], SANITIZED))
    passed = failed = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for ok, bad, text in list(pool.map(lambda j: job(netc, *j), jobs)) + [detects(netc)] + ([opsuite(netc)] if full else []):
            passed, failed = passed + ok, failed + bad
            if text:
                print(text)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
