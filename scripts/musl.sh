#!/usr/bin/env bash
# Sourced by dist.sh and need.sh: programs for musl where rustup has no target for it, but Debian has the sources of a standard library (rust-web-src) and
# the compiler of the same version. RUSTC_BOOTSTRAP lets that compiler build its own library, as Debian does; our code uses nothing of it.

# Where Debian's packages put them.
readonly DEBIAN_RUSTC=/usr/bin/rustc
readonly DEBIAN_SOURCES=/usr/lib/rustlib/src/rust/library/std

# has_target TRIPLE: whether rustup has installed it.
has_target() {
    rustup target list --installed 2>/dev/null | grep -qx "$1"
}

# has_rustup_std TRIPLE: whether that is there, and a compiler for the C that is linked: rustup brings none.
has_rustup_std() {
    has_target "$1" && command -v musl-gcc >/dev/null
}

# Whether Debian's packages are there: need.sh musl.
has_debian_std() {
    [ -e "$DEBIAN_SOURCES" ] && [ -x "$DEBIAN_RUSTC" ] && command -v musl-gcc >/dev/null && [ -n "$(llvm_unwind)" ]
}

# use_debian_std TRIPLE FOLDER: cargo builds the standard library too, from now on. What it links is put into FOLDER.
use_debian_std() {
    local name=${1^^} folder=$2
    name=${name//-/_}
    mkdir -p -- "$folder"
    unwind_for_musl "$folder"
    export PATH=/usr/bin:$PATH RUSTC=$DEBIAN_RUSTC RUSTC_BOOTSTRAP=1 CARGO=/usr/bin/cargo CARGO_UNSTABLE_BUILD_STD=std,panic_unwind
    export "CC_${1//-/_}=musl-gcc" "CARGO_TARGET_${name}_LINKER=musl-gcc"
    # musl-gcc of Debian knows -static, and not -static-pie.
    DEBIAN_FLAGS="-C relocation-model=static -C link-self-contained=no -L $folder"
    # As rustup's library is built, whatever the profile says.
    configured=(--config 'profile.dist.package.core.opt-level=3' --config 'profile.dist.package.alloc.opt-level=3'
        --config 'profile.dist.package.std.opt-level=3')
}

# LLVM's unwinder, with the one function that it takes from glibc: what prints before it aborts.
unwind_for_musl() {
    cp -- "$(llvm_unwind)" "$1/libunwind.a"
    musl-gcc -O2 -x c -c -o "$1/fprintf_chk.o" - <<'C'
#include <stdarg.h>
#include <stdio.h>

int __fprintf_chk(FILE *to, int flag, const char *format, ...) {
    va_list given;
    va_start(given, format);
    int count = vfprintf(to, format, given);
    va_end(given);
    return count;
}
C
    ar r "$1/libunwind.a" "$1/fprintf_chk.o" 2>/dev/null
}

llvm_unwind() {
    compgen -G '/usr/lib/llvm-*/lib/libunwind.a' | sort -V | tail -n 1
}
