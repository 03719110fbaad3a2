# make install: where things go, that the manual page is whole, that bash completes.
make -s -C "$ROOT" B="$(basename "$(dirname "$NETC")")" DESTDIR="$PWD/root" PREFIX=/usr install >log 2>&1 || { cat log; exit 1; }
(cd root && find . -type f | sort)
root/usr/bin/netc --version
page=root/usr/share/man/man1/netc.1
[ "$(grep -c '^\.It Fl' "$page")" = "$(grep -c '^OPTION(' "$ROOT/cli/option.def")" ] && echo 'every option is in the page'
grep -q 'OPTIONS' "$page" && ! grep -q '^\.\\" OPTIONS' "$page" && echo 'in place of the mark'
command -v bash >/dev/null || { echo 'no bash here'; exit 77; }
cat >complete.bash <<'.'
PATH=$PWD/root/usr/bin:$PATH
source root/usr/share/bash-completion/completions/netc
try() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _netc
    echo "$*: ${COMPREPLY[*]}"
}
try netc --rep
try netc --report = j
try netc --report =
try netc --plan = ""
try netc --plan = al
try netc -W unu
try netc --explain = unknown-o
try netc --list-p
touch model.net other.txt
try netc mod
.
bash complete.bash
