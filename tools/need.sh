#!/bin/sh
# need.sh - what a build needs and this machine has not: need.sh build|test|ci ...
#
# Installs it with apt where that is allowed (as root, or by sudo without a password); prints the one line to run elsewhere.
missing=
need() {                                  # need COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
for what; do
    case $what in
    build)
        need cc gcc
        need flex flex
        need bison bison
        [ -e /usr/include/cjson/cJSON.h ] || echo '#include <cjson/cJSON.h>' | cc -E - >/dev/null 2>&1 || missing="$missing libcjson-dev"
        [ -n "$missing" ] || echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 || missing="$missing libc6-dev"
        case $missing in *gcc*) missing="$missing libc6-dev" ;; esac ;;
    test)
        need python3 python3
        need diff diffutils ;;
    ci)
        need clang "clang libclang-rt-dev"
        ! command -v clang >/dev/null 2>&1 || [ -e "$(clang -print-runtime-dir)" ] || missing="$missing libclang-rt-dev" ;;
    *)
        echo "usage: need.sh build|test|ci ..." >&2
        exit 2 ;;
    esac
done
[ -n "$missing" ] || exit 0
line="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "netc needs these commands' packages:$missing" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    sudo=sudo
else
    echo "something is missing; run:  sudo $line" >&2
    exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq && $sudo $line -qq -o Dpkg::Use-Pty=0 >/dev/null || {
    echo "apt-get failed; run:  ${sudo:+sudo }$line" >&2
    exit 1
}
