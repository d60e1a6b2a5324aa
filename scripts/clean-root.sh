#!/usr/bin/env bash
# Installs each package of target/packages in a clean root and tries it: clean-root.sh [program|deb|wheel|image]...
#
# The root is a Debian (SUITE=bookworm) that debootstrap makes in a temporary folder, once for all of them. Its /proc is mounted in a mount
# namespace that ends with this script, however it ends. What can't be had here is skipped, with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=$(realpath -m -- "${CARGO_TARGET_DIR:-target}")/packages
SUITE=${SUITE:-bookworm}
readonly PACKAGES SUITE
readonly IMAGE=localhost/pipefill-clean-root
readonly RUN=(pipefill run /s.toml --on sim --quiet --out /tmp/records)

main() {
    [ $# -gt 0 ] || set -- program deb wheel image
    [ -x "$PACKAGES/pipefill" ] || { echo "$PACKAGES has no packages: make dist" >&2; exit 2; }
    lacks_nothing || exit 3
    # Not local: the trap runs when main has ended. Nothing is mounted below it in this namespace.
    folder=$(mktemp -d)
    trap 'rm -rf --one-file-system -- "$folder"' EXIT
    unshare --mount --propagation private -- "$BASH" -euo pipefail -c \
        "$(declare -p PACKAGES SUITE IMAGE RUN); $(declare -f); all \"\$@\"" clean-root "$folder" "$@"
}

# The machine's own reasons: each ends with 3.
lacks_nothing() {
    [ "$(id -u)" -eq 0 ] || skip "only root may make a root" || return
    command -v debootstrap >/dev/null || skip "there is no debootstrap; apt-get install debootstrap"
}

# skip REASON
skip() {
    echo "skipped (clean-root-unavailable: $1)"
    return 3
}

# all FOLDER PART...
all() {
    local folder=$1 part status=0
    shift
    for part in "$@"; do
        # Not in a condition, where a command that fails would stop nothing.
        (set -e; "try_$part" "$folder"; echo "ok: $part") &
        wait $! || status=$?
    done
    return "$status"
}

# The program in a root with nothing else: no library, no shell.
try_program() {
    local root=$1/empty
    mkdir -p -- "$root/tmp" "$root/proc"
    cp -- "$PACKAGES/pipefill" "$root/"
    scenario "$root"
    inside "$root" /pipefill --version
    inside "$root" "/${RUN[0]}" "${RUN[@]:1}" | grep -q rwnd
}

try_deb() {
    local root
    root=$(debian "$1")
    scenario "$root"
    cp -- "$PACKAGES"/pipefill_*.deb "$root/tmp/pipefill.deb"
    inside "$root" dpkg --install /tmp/pipefill.deb
    inside "$root" "${RUN[@]}" | grep -q rwnd
    inside "$root" rm -r /tmp/records
    inside "$root" bash -n /usr/share/bash-completion/completions/pipefill
    inside "$root" gzip -t /usr/share/man/man1/pipefill-run.1.gz /usr/share/doc/pipefill/changelog.gz
    # A name, by the machine's own resolver: the file is static, and glibc's is not all of it.
    echo '127.0.0.1 far-end' >>"$root/etc/hosts"
    inside "$root" sh -c 'ip link set lo up 2>/dev/null; pipefill serve --once --bind 127.0.0.1 -p 5299 & sleep 1; pipefill test far-end:5299 -t 1 --json' |
        grep -q '"limited_by"'
    inside "$root" dpkg --purge pipefill
    ! inside "$root" sh -c 'command -v pipefill'
}

# With pyarrow from PyPI, by this machine's settings for pip.
try_wheel() {
    local root
    root=$(debian "$1")
    scenario "$root"
    cp -- "$PACKAGES"/pipefill-*.whl "$root/tmp/"
    cp -- /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir -p -- "$root/etc/ssl/certs"
    cp -L -- /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    ! [ -e /etc/pip.conf ] || cp -- /etc/pip.conf "$root/etc/pip.conf"
    inside "$root" python3 -m venv /venv
    inside "$root" sh -c '/venv/bin/pip install -q --disable-pip-version-check --only-binary=:all: --find-links /tmp /tmp/pipefill-*.whl'
    inside "$root" /venv/bin/pipefill --version
    inside "$root" /venv/bin/python -c 'import pipefill
experiment = pipefill.run("/s.toml", out="/tmp/of-python")
assert experiment.cells["limited_by"].to_pylist() == ["rwnd"], experiment.cells
assert experiment.runs.num_rows == 1 and experiment.ok
print(experiment)'
}

# The base is the clean root: nothing is downloaded.
try_image() {
    command -v podman >/dev/null || skip "there is no podman; apt-get install podman" || return
    local root storage=$1/storage podman
    root=$(debian "$1")
    podman=(podman --root "$storage" --runroot "$1/run" --storage-driver vfs --cgroup-manager cgroupfs)
    tar -C "$root" --one-file-system -c . | "${podman[@]}" import - "$IMAGE-base"
    "${podman[@]}" build --isolation chroot --build-arg "BASE=$IMAGE-base" -t "$IMAGE" -f Containerfile "$PACKAGES"
    scenario "$1"
    "${podman[@]}" --runtime "$(runtime)" run --rm --network none --ulimit nofile=1024:1024 \
        --ulimit nproc=1000:1000 -v "$1/s.toml:/s.toml:ro" "$IMAGE" "${RUN[@]:1}" | grep -q rwnd
    "${podman[@]}" rmi -a -f >/dev/null
}

runtime() {
    command -v runc || command -v crun
}

# Where the Debian is; made at the first call.
debian() {
    local root=$1/$SUITE
    if ! [ -e "$root.complete" ]; then
        debootstrap --variant=minbase --include=python3,python3-venv "$SUITE" "$root" >"$1/debootstrap.log" 2>&1 ||
            { tail -n 3 "$1/debootstrap.log" >&2; skip "debootstrap failed" >&2; return 3; }
        touch "$root.complete"
    fi
    echo "$root"
}

# inside ROOT COMMAND...: with a /proc, which the mount namespace takes away again.
inside() {
    local root=$1
    shift
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$root" "$@"
}

# scenario FOLDER: one cell, whose answer is known: the receive window.
scenario() {
    cat >"$1/s.toml" <<'TOML'
name = "clean"
[path]
rtt = "80ms"
rate = "1gbit"
[receiver]
tcp_rmem = "4096 131072 512KiB"
[[flow]]
duration = "2s"
[run]
repeat = 1
TOML
}

main "$@"
