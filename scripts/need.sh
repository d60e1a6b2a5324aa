#!/usr/bin/env bash
# Sees to it that the named tools are there: need.sh TOOL...
#
# What Debian's packages bring is installed where this user may do so (root, or sudo without a password). Everything else is
# said, with the command to run, and ends with exit code 3: this machine cannot do it. Never: a question, or a download from
# anywhere but the machine's own package sources and rustup.
set -euo pipefail

. "$(dirname "$0")/musl.sh"

readonly RUST_MIN=1.95.0
readonly NODE_MIN=20.19.0

main() {
    local tool
    for tool in "$@"; do
        case $tool in
            rust) need_rust ;;
            rustfmt | clippy) need_component "$tool" ;;
            clang) { has clang-14 && has llvm-strip-14; } || install clang-14 clang-14 llvm-14 ;;
            musl) need_musl ;;
            cc) has cc || install cc gcc libc6-dev ;;
            node) need_node ;;
            chromium) has chromium || install chromium --no-install-recommends chromium fonts-dejavu-core fonts-noto-color-emoji ;; # what it recommends is a desktop
            ping) has ping || install ping iputils-ping ;;
            pasta) has pasta || install pasta passt ;;
            nft) has nft || [ -x /usr/sbin/nft ] || install nft nftables ;;
            curl) has curl || install curl curl ;;
            tshark) has tshark || install tshark tshark ;;
            tcptrace) has tcptrace || install tcptrace tcptrace ;;
            prometheus) { has prometheus && has promtool; } || RUNLEVEL=1 install prometheus prometheus ;; # its service is not started
            systemd-analyze) has systemd-analyze || install systemd-analyze systemd ;;
            iperf3) has iperf3 || install iperf3 iperf3 ;;
            debootstrap) has debootstrap || [ -x /usr/sbin/debootstrap ] || install debootstrap debootstrap ;;
            slurm) { has sbatch && [ -x /usr/sbin/munged ]; } || install Slurm slurm-wlm munge ;;
            sshd) [ -x /usr/sbin/sshd ] || RUNLEVEL=1 install sshd openssh-server ;; # its service is not started
            # None of their services is started.
            nginx) [ -x /usr/sbin/nginx ] || RUNLEVEL=1 install nginx nginx-light ;;
            redis) has redis-server || RUNLEVEL=1 install redis redis-server redis-tools ;;
            samba) { [ -x /usr/sbin/smbd ] && has smbclient; } || RUNLEVEL=1 install samba samba smbclient ;;
            mariadb) { [ -x /usr/sbin/mariadbd ] && has mariadb; } || RUNLEVEL=1 install mariadb mariadb-server mariadb-client ;;
            nghttp) { has nghttp && has nghttpd; } || install nghttp nghttp2 ;;
            rsync) has rsync || RUNLEVEL=1 install rsync rsync ;;
            socat) has socat || install socat socat ;;
            podman) { has podman && has runc && [ -x /bin/busybox ]; } || install podman podman runc busybox-static ;;
            mdbook) has mdbook || refuse "mdbook is missing" "cargo install mdbook" ;;
            ns3) { has g++ && [ -e /usr/include/ns3/core-module.h ]; } || install ns-3 g++ libns3-dev ;;
            *) refuse "need.sh does not know '$tool'" "fix the call in the Makefile" ;;
        esac
    done
}

need_rust() {
    local version
    has cargo && has rustc ||
        refuse "Rust is missing (cargo, rustc)" "install Rust $RUST_MIN or newer: https://rustup.rs"
    version=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
    at_least "$version" "$RUST_MIN" ||
        refuse "rustc is $version, and pipefill needs $RUST_MIN or newer" \
            "rustup update stable (without rustup: https://rustup.rs)"
}

need_musl() {
    local target
    target=$(uname -m)-unknown-linux-musl
    has_rustup_std "$target" || has_debian_std && return
    if has_target "$target" || { has rustup && rustup target add "$target" >/dev/null 2>&1 </dev/null; }; then
        has musl-gcc || install "a C compiler for musl" musl-tools
        return
    fi
    install "Rust for musl" rustc-web cargo-web rust-web-src musl-tools libunwind-14-dev
}

need_node() {
    { has node && has npm; } || install node nodejs npm
    local version
    version=$(node --version | tr -d v)
    at_least "$version" "$NODE_MIN" ||
        refuse "node is $version, and the report page's script needs $NODE_MIN or newer" "https://nodejs.org"
}

need_component() {
    local command=${1/rustfmt/fmt}
    cargo "$command" --version >/dev/null 2>&1 && return
    if has rustup && rustup component add "$1" >/dev/null 2>&1 </dev/null; then
        return
    fi
    refuse "cargo $command is missing" "rustup component add $1"
}

# install TOOL PACKAGE...
install() {
    local tool=$1
    shift
    local as_root=()
    if ! has apt-get; then
        refuse "$tool is missing" "install it with this system's package manager (on Debian: $*)"
    fi
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n)
        has sudo && sudo -n true 2>/dev/null || refuse "$tool is missing" "sudo apt-get install $*"
    fi
    echo "$tool is missing; installing $*"
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q "$@" </dev/null >&2 ||
        { "${as_root[@]}" apt-get update -q </dev/null >&2 &&
            DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q "$@" </dev/null >&2; } ||
        refuse "$tool could not be installed" "${as_root[*]} apt-get install $*"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# at_least VERSION MINIMUM
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# refuse WHAT REMEDY
refuse() {
    printf 'this machine cannot do it: %s\n  remedy: %s\n' "$1" "$2" >&2
    exit 3
}

main "$@"
