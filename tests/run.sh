#!/bin/sh
# run.sh - all tests, or those whose path begins with one of the arguments: run.sh [-b BUILD] [--bless] [--full] [error/conv ...]
#
# README.md here says what each folder's tests are. A failure prints one line and the first lines of the difference; the last
# line is `N passed, N failed`. --bless writes the expected files anew; --full is handed to the Python tests.
cd "$(dirname "$0")/.." || exit 2
export ROOT="$PWD" LC_ALL=C
unset NO_COLOR CLICOLOR_FORCE
build=build bless= full= limit=${TEST_LIMIT:-60} passed=0 failed=0
while [ $# -gt 0 ]; do
    case $1 in
    -b) build=$2; shift ;;
    --bless) bless=yes ;;
    --full) full=--full ;;
    *) break ;;
    esac
    shift
done
wanted="$*"
export NETC="$ROOT/$build/netc"
[ -x "$NETC" ] || { echo "run.sh: there is no $build/netc; make it first"; exit 2; }
tmp="$ROOT/$build/test-out"
rm -rf "$tmp" && mkdir -p "$tmp" || exit 2

selected() {
    [ -z "$wanted" ] && return 0
    for w in $wanted; do
        case $1 in "$w"*) return 0 ;; esac
    done
    return 1
}
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAIL $1: $2"; }

# same NAME EXPECTED GOT: the test passes if the files are equal; --bless makes them so.
same() {
    if [ -n "$bless" ] && ! cmp -s "$2" "$3"; then
        cp "$3" "$2" && echo "blessed $2"
    fi
    if cmp -s "$2" "$3"; then
        pass
    else
        fail "$1" "not as in ${2#"$ROOT"/}"
        diff -u "$2" "$3" 2>&1 | sed -n '3,20s/^/    /p'
    fi
}
arguments() { sed -n '1s/^# args: //p' "$1"; }

# Diagnostics: standard error and the exit status that goes with it.
for program in tests/error/*.net; do
    name=error/$(basename "$program" .net)
    [ -e "$program" ] && selected "$name" || continue
    (cd tests/error && eval "timeout $limit $NETC $(arguments "${name#error/}.net") ${name#error/}.net" >/dev/null 2>"$tmp/got")
    status=$?
    expected=0
    grep -q ': error: ' "$tmp/got" && expected=1
    if [ $status -ne $expected ]; then
        fail "$name" "exit status $status, not $expected"
        head -5 "$tmp/got"
    else
        same "$name" "$ROOT/tests/$name.err" "$tmp/got"
    fi
done

# golden NAME PROGRAM EXPECTED OPTION: standard output.
golden() {
    dir=$(dirname "$2") file=$(basename "$2")
    if (cd "$dir" && eval "timeout $limit $NETC $(arguments "$file") $4 $file" >"$tmp/got" 2>"$tmp/err"); then
        same "$1" "$3" "$tmp/got"
    else
        fail "$1" "exit status $?"
        head -5 "$tmp/err"
    fi
}
for expected in tests/ast/*.ast tests/ir/*.ir; do
    kind=$(basename "$(dirname "$expected")")
    name=$kind/$(basename "$expected" ".$kind")
    [ -e "$expected" ] && selected "$name" || continue
    golden "$name" "tests/$name.net" "$expected" "--emit=$kind"
    [ "$kind" = ast ] || golden "$name read back" "$expected" "$expected" --emit=ir
done
for expected in tests/report/*.*; do
    style=${expected##*.} name=${expected%.*}
    name=${name#tests/}
    case $style in table|json|csv|why|map) ;; *) continue ;; esac
    selected "$name" || continue
    program=tests/$name.net
    [ -e "$program" ] || program=examples/${name#report/}.net
    golden "$name.$style" "$program" "$expected" "--report=$style"
done

# A test without its counterpart tests nothing.
for file in tests/error/*.net tests/error/*.err tests/ast/*.net tests/ir/*.net tests/cli/*.sh; do
    case $file in
    */error/*.net) other=${file%.net}.err ;;
    */error/*.err) other=${file%.err}.net ;;
    */ast/*) other=${file%.net}.ast ;;
    */ir/*) other=${file%.net}.ir ;;
    *) other=${file%.sh}.out ;;
    esac
    [ ! -e "$file" ] || [ -e "$other" ] || [ -n "$wanted" ] || fail "${file#tests/}" "there is no ${other#tests/}"
done

# Command line: scripts and what they print. 77 means that the test cannot run here; it says why.
for script in tests/cli/*.sh; do
    name=cli/$(basename "$script" .sh)
    [ -e "$script" ] && selected "$name" || continue
    rm -rf "$tmp/dir" && mkdir "$tmp/dir"
    (cd "$tmp/dir" && timeout "$limit" sh "$ROOT/$script" >"$tmp/got" 2>&1)
    case $? in
    0) same "$name" "$ROOT/tests/$name.out" "$tmp/got" ;;
    77) echo "[skip] $name: $(tail -n 1 "$tmp/got")" ;;
    *) fail "$name" "its script failed"; tail -n 5 "$tmp/got" ;;
    esac
done

for source in tests/unit/*.c; do
    name=unit/$(basename "$source" .c)
    [ -e "$source" ] && selected "$name" || continue
    if timeout "$limit" "$build/tests/$name" >"$tmp/got" 2>&1; then
        pass
    else
        fail "$name" "exit status $?"
        head -20 "$tmp/got"
    fi
done

# Python tests count for themselves.
for script in tests/*.py; do
    name=$(basename "$script")
    [ -e "$script" ] && selected "$name" || continue
    python3 "$script" "$NETC" $full >"$tmp/got" 2>&1
    status=$?
    count=$(tail -n 1 "$tmp/got" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    if [ -z "$count" ] || { [ $status -ne 0 ] && [ "${count#* }" = 0 ]; }; then
        fail "$name" "exit status $status, last line: $(tail -n 1 "$tmp/got")"
    else
        passed=$((passed + ${count% *}))
        failed=$((failed + ${count#* }))
        [ "${count#* }" = 0 ] || sed "s/^/    /" "$tmp/got"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
