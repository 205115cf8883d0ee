#!/bin/sh
# Usage: scripts/require.sh [python] [rust] [java] [nightly]
# Reports in one line which of the named tools are missing or too old, and how to get them.
set -eu
cd "$(dirname "$0")/.."

missing=
need() { missing="${missing:+$missing; }$1"; }

require_python() {
    python=${PYTHON:-python3}
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        need "Python 3.11 or newer ('$python' is not; name another with PYTHON=...)"
    elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        need "Python's venv module (a package of its own on Debian: python3-venv)"
    fi
}

require_rust() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(cargo --version 2>/dev/null | cut -d ' ' -f 2)
    oldest=$(printf '%s\n%s\n' "$wanted" "${found:-0}" | sort -V | head -n 1)
    [ "$oldest" = "$wanted" ] ||
        need "Rust $wanted or newer (https://rustup.rs${found:+; found $found})"
}

require_java() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    # The major version, from 'openjdk version "17.0.15"' as from the older '"1.8.0_402"'.
    found=$("$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p')
    [ "${found:-0}" -ge 17 ] ||
        need "Java 17 or newer, for Spark (on PATH or in JAVA_HOME${found:+; found $found})"
}

require_nightly() {
    cargo +nightly --version >/dev/null 2>&1 ||
        need "a nightly Rust for cargo-fuzz (rustup toolchain install nightly)"
}

for tool in "$@"; do "require_$tool"; done
[ -z "$missing" ] || { echo "tamis needs $missing" >&2; exit 1; }
