#!/bin/sh
# Make the environment .venv where there is none, and install the course into it.
#
#     sh tools/install.sh GROUPS        groups of pyproject.toml, such as lab,book,test
#
# PYTHON3 names the interpreter to use, where the one found is not the one wanted.
set -eu
groups=$1
needed_gb=4
log=.make/pip.log

fail() {
    echo "$1" >&2
    exit 1
}

find_python() {
    for candidate in ${PYTHON3:-python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    found=$("${PYTHON3:-python3}" -V 2>&1) || found="none"
    fail "Python 3.11 or newer is needed, found $found: install it (sudo apt install python3), or run make with PYTHON3=/path/to/python3."
}

check_disk() {
    free_gb=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024 / 1024) }')
    if [ "$free_gb" -lt "$needed_gb" ]; then
        fail "The course needs $needed_gb GB of disk here, $free_gb GB are free: make room, then run make again."
    fi
}

make_environment() {
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "Python's venv module is missing: run 'sudo apt install $(basename "$python")-venv', then run make again."
    check_disk
    echo "Making the environment .venv ($("$python" -V))"
    "$python" -m venv --clear .venv
}

install_course() {
    echo "Installing the course [$groups], about two minutes (log: $log)"
    .venv/bin/python -m pip install --disable-pip-version-check --no-input --retries 2 \
        --constraint constraints.txt --editable ".[$groups]" >"$log" 2>&1
}

explain_failure() {
    if grep -q 'No space left on device' "$log"; then
        fail "The disk filled up: make room, then run make again."
    fi
    if grep -Eq 'Failed to establish|Connection refused|name resolution|timed out|ProxyError|SSLError' "$log"; then
        fail "The package index cannot be reached: check the network, then run make again."
    fi
    tail -n 8 "$log" >&2
    fail "pip could not install the course: its last words are above, all of them in $log."
}

mkdir -p .make
.venv/bin/python -m pip --version >/dev/null 2>&1 || make_environment
install_course || explain_failure
