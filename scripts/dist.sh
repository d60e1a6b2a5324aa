#!/usr/bin/env bash
# The packages that are handed out, into target/packages: dist.sh [program|archive|deb|wheel|image]...
#
# program: one static file, which needs no library of the machine. musl where rustup has its target, or Debian its standard library's sources
#          (musl.sh); glibc otherwise.
# archive: the program, manual pages, completions and licences as .tar.gz.   deb: the same for Debian and Ubuntu.
# wheel:   the program and the Python package in python/.                    image: what `podman build` needs, and the command.
# What a machine lacks for one of them is said, and the exit code is 3. The others are built all the same.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/musl.sh

TARGET=$(realpath -m -- "${CARGO_TARGET_DIR:-target}")
readonly TARGET
readonly PACKAGES=$TARGET/packages
readonly MOST=$((15 * 1000 * 1000))
readonly MATURIN=maturin==1.16.0
VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
MACHINE=$(uname -m)
# Of the newest commit, so that the same commit makes the same archives.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
readonly VERSION MACHINE

main() {
    local status=0 part
    [ $# -gt 0 ] || set -- program archive deb wheel image
    mkdir -p -- "$PACKAGES"
    for part in "$@"; do
        # Not in a condition, where a command that fails would stop nothing.
        (set -e; "make_$part") &
        wait $! || status=$?
    done
    (cd "$PACKAGES" && sha256sum -- *.deb *.tar.gz *.whl 2>/dev/null >SHA256SUMS) || true
    ls -l -- "$PACKAGES"
    exit "$status"
}

make_program() {
    local triple size
    triple=$(triple)
    flags "$triple"
    cargo build --locked --profile dist -p pipefill --target "$triple" "${configured[@]}"
    install -m 755 -- "$TARGET/$triple/dist/pipefill" "$PACKAGES/pipefill"
    is_static "$PACKAGES/pipefill" || fail "the program asks for a dynamic linker"
    size=$(stat -c %s -- "$PACKAGES/pipefill")
    [ "$size" -lt "$MOST" ] || fail "the program has $size bytes, and $MOST are too many"
    echo "program: $triple, static, $size bytes"
}

make_archive() {
    local name=pipefill-$VERSION-$MACHINE-linux root
    root=$(mktemp -d)
    furnish "$root/$name" bin man completions/bash completions/zsh completions/fish licences
    cp -R -- packaging "$root/$name/packaging"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$root" -c "$name" |
        gzip -9n >"$PACKAGES/$name.tar.gz"
    rm -rf -- "$root"
}

make_deb() {
    command -v dpkg-deb >/dev/null || lack deb "there is no dpkg-deb" || return
    local root architecture documents page
    architecture=$(dpkg --print-architecture)
    root=$(mktemp -d)
    documents=$root/usr/share/doc/pipefill
    furnish "$root/usr" bin share/man/man1 share/bash-completion/completions share/zsh/vendor-completions \
        share/fish/vendor_completions.d share/doc/pipefill
    cp -R -- packaging "$documents/examples"
    cat -- "$documents/LICENSE-MIT" "$documents/LICENSE-APACHE" >"$documents/copyright"
    rm -- "$documents"/LICENSE-*
    for page in "$root"/usr/share/man/man1/*; do
        gzip -9n -- "$page"
    done
    gzip -9nc -- CHANGELOG.md >"$documents/changelog.gz"
    mkdir -- "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: pipefill
Version: $VERSION
Architecture: $architecture
Maintainer: The pipefill developers <https://github.com/pipefill/pipefill>
Installed-Size: $(du -sk -- "$root/usr" | cut -f1)
Section: net
Priority: optional
Homepage: https://github.com/pipefill/pipefill
Suggests: iperf3, passt
Description: laboratory for TCP and UDP throughput
 pipefill measures transfers over a network path that you describe, on the
 kernel of this machine or in a simulator of it, and says in a sentence what
 limited each flow, with the arithmetic. It proposes the smallest change that
 helps, applies it, and measures again. It explains the connections of this
 host and of captures too.
CONTROL
    find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    chmod -R u=rwX,go=rX -- "$root"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$PACKAGES/pipefill_${VERSION}_$architecture.deb"
    rm -rf -- "$root"
}

# The very program of make_program: cargo finds that it is built.
make_wheel() {
    local place triple
    place=$(scripts/venv.sh maturin "$MATURIN") || return
    triple=$(triple)
    flags "$triple"
    rm -f -- "$PACKAGES"/*.whl
    (cd python && CARGO_TARGET_DIR=$TARGET "$place/bin/maturin" build --profile dist --locked --target "$triple" "${configured[@]}" \
        --out "$PACKAGES")
}

make_image() {
    cp -- Containerfile "$PACKAGES/Containerfile"
    echo "image: podman build -t pipefill:$VERSION $PACKAGES"
}

# furnish ROOT BIN MAN BASH ZSH FISH DOCUMENTS: the program and what belongs to it, in these folders below ROOT.
furnish() {
    local root=$1 program=$PACKAGES/pipefill folder
    shift
    for folder in "$@"; do
        mkdir -p -- "$root/$folder"
    done
    install -m 755 -- "$program" "$root/$1/pipefill"
    "$program" man -o "$root/$2"
    "$program" completions bash >"$root/$3/pipefill"
    "$program" completions zsh >"$root/$4/_pipefill"
    "$program" completions fish >"$root/$5/pipefill.fish"
    cp -- LICENSE-MIT LICENSE-APACHE README.md "$root/$6"
}

# The target of a static program on this machine.
triple() {
    local musl=$MACHINE-unknown-linux-musl
    if has_rustup_std "$musl" || has_debian_std; then
        echo "$musl"
    else
        echo "$MACHINE-unknown-linux-gnu"
    fi
}

# flags TRIPLE: what the linker and zstd's compiler are told, for the program alone and not for what runs while it is built. Relocations are
# packed where the library's start understands that, and of zstd's ways to compress those stay that its levels 1 to 3 take; nothing here asks for
# a higher one.
flags() {
    local name=${1^^} way told="-C target-feature=+crt-static"
    local zstd=()
    for way in GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA; do
        zstd+=("-DZSTD_EXCLUDE_${way}_BLOCK_COMPRESSOR")
    done
    configured=()
    case $1 in
        *-gnu) told+=" -C link-arg=-Wl,-z,pack-relative-relocs" ;;
        *)
            if has_rustup_std "$1"; then
                export "CC_${1//-/_}=musl-gcc"
            else
                use_debian_std "$1" "$TARGET/musl"
                told+=" $DEBIAN_FLAGS"
            fi
            ;;
    esac
    export "CFLAGS_${1//-/_}=${zstd[*]}"
    export "CARGO_TARGET_${name//-/_}_RUSTFLAGS=$told"
}

is_static() {
    ! LC_ALL=C readelf --program-headers --wide -- "$1" | grep -q INTERP
}

lack() {
    echo "$1 is not built: $2" >&2
    return 3
}

fail() {
    echo "$1" >&2
    exit 1
}

main "$@"
