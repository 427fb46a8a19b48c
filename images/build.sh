#!/bin/bash
# Builds the agent and the images, and writes each as a docker-archive.
#
#   images/build.sh [--platform linux/arm64] [IMAGE...]      default: all of them, for this machine
#   images/build.sh --print [IMAGE...]                       print the archives' paths; build nothing
#
# Images: agent controller openmpi mpich noshell git, and only on request frameworks, plain and bench. Their names are
# localhost/muster-IMAGE:dev. The script uses a container engine (docker) if one answers,
# otherwise buildah with base images that mmdebstrap makes from Debian's packages, so
# that no registry is needed. The cache is $MUSTER_IMAGES_DIR, or
# $XDG_CACHE_HOME/muster/images, or ~/.cache/muster/images.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "$0")" && pwd)
repo=$(dirname "$here")
cache=${MUSTER_IMAGES_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/images}
suite=bookworm
host_arch=$(go env GOHOSTARCH)
arch=$host_arch

fail() { echo "build.sh: $1" >&2; if [ $# -gt 1 ]; then echo "hint: $2" >&2; fi; exit "${3:-1}"; }
say() { echo "build.sh: $*" >&2; }
# ref prints an image's name. Other platforms get tags of their own, so that they never replace this machine's image.
ref() { if [ "$arch" = "$host_arch" ]; then echo "localhost/muster-$1:dev"; else echo "localhost/muster-$1:dev-$arch"; fi; }
archive() { echo "$cache/archives/$1-$arch.tar"; }

packages_openmpi=openmpi-bin,python3-minimal,python3-mpi4py
packages_mpich=mpich,python3-minimal
packages_frameworks=python3,libgomp1,libquadmath0,openmpi-bin,rsync,git,pdsh # openmpi-bin is for Horovod, the following packages are for the ssh shim
packages_git=git
packages_bench=openmpi-bin,openssh-client,openssh-server
packages_devel=gcc,libc6-dev,libopenmpi-dev,libmpich-dev
mpi4py=4.1.2 # from PyPI, for MPICH

print=
while [ $# -gt 0 ]; do
    case $1 in
        --platform) arch=${2:?--platform takes linux/amd64 or linux/arm64}; arch=${arch#linux/}; shift 2 ;;
        --platform=*) arch=${1#*=}; arch=${arch#linux/}; shift ;;
        --print) print=1; shift ;;
        -h | --help) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;;
        -*) fail "no such option: $1" "images/build.sh --help" 64 ;;
        *) break ;;
    esac
done
case $arch in amd64 | arm64) ;; *) fail "no such platform: linux/$arch" "linux/amd64 or linux/arm64" 64 ;; esac
images=("$@")
[ ${#images[@]} -gt 0 ] || images=(agent controller openmpi mpich noshell git)
for image in "${images[@]}"; do
    [ -f "$here/$image/Dockerfile" ] || fail "no such image: $image" "agent controller openmpi mpich noshell git frameworks plain bench" 64
    if [ -n "$print" ]; then archive "$image"; fi
done
[ -z "$print" ] || exit 0

# One build at a time: they share the cache. The lock ends with this process.
mkdir -p "$cache"/{archives,bases,context,wheels}
exec 9>"$cache/lock"
flock 9

if docker version >/dev/null 2>&1; then
    engine=docker
elif command -v buildah >/dev/null; then
    engine=buildah
else
    fail "neither docker nor buildah is installed" "apt-get install buildah mmdebstrap"
fi

buildah_() {
    local driver=${STORAGE_DRIVER:-overlay}
    STORAGE_DRIVER=$driver TMPDIR=$cache buildah --root "$cache/storage-$driver" --runroot "/run/muster-images-$driver" "$@"
}
# Without CAP_SYS_ADMIN in the initial namespace, overlay does not work. vfs always works, but is slow.
if [ $engine = buildah ] && [ -z "${STORAGE_DRIVER:-}" ] && ! buildah_ info >/dev/null 2>&1; then
    export STORAGE_DRIVER=vfs
fi

# rootfs NAME prints the path of a tar with Debian and the packages of NAME, and creates the tar if it does not exist.
rootfs() {
    local list=packages_$1 tar
    tar=$cache/bases/$1-$(printf '%s' "$suite $arch ${!list}" | sha256sum | cut -c1-12).tar
    if [ ! -e "$tar" ]; then
        command -v mmdebstrap >/dev/null || fail "mmdebstrap is not installed" "apt-get install mmdebstrap"
        say "making a Debian base with ${!list}"
        mmdebstrap --quiet --dpkgopt=force-unsafe-io --variant=minbase --architectures="$arch" --include="${!list}" "$suite" "$tar.part.tar" >&2
        mv "$tar.part.tar" "$tar"
    fi
    echo "$tar"
}

# base NAME prints the name of a base image with the packages of NAME.
base() {
    local tar container name python=
    if [ $engine = docker ]; then echo "debian:12"; return; fi
    tar=$(rootfs "$1")
    name=localhost/muster-base-$(basename "$tar" .tar | sed 's/\(.*\)-/\1:/')
    if [ "$1" = mpich ]; then python=$(mpi4py_for_mpich) name=$name-$mpi4py; fi
    if ! buildah_ inspect --type image "$name" >/dev/null 2>&1; then
        container=$(buildah_ from --arch "$arch" scratch)
        buildah_ add --quiet "$container" "$tar" / >/dev/null
        [ -z "$python" ] || buildah_ add --quiet "$container" "$python" /usr/local/lib/python3.11/dist-packages >/dev/null
        buildah_ config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
        buildah_ commit --quiet --rm "$container" "$name" >/dev/null
    fi
    echo "$name"
}

# mpi4py_for_mpich prints a directory with PyPI's mpi4py, unpacked.
mpi4py_for_mpich() {
    local dir=$cache/wheels/mpi4py-$mpi4py-$arch machine
    if [ ! -d "$dir" ]; then
        machine=$([ "$arch" = arm64 ] && echo aarch64 || echo x86_64)
        rm -rf "$dir.part"
        python3 -m pip install --quiet --no-deps --only-binary=:all: --python-version 3.11 \
            --platform "manylinux1_$machine" --platform "manylinux2014_$machine" --platform "manylinux_2_28_$machine" \
            --target "$dir.part" "mpi4py==$mpi4py" >&2 || fail "no mpi4py $mpi4py" "pip must reach PyPI: apt-get install python3-pip"
        mv "$dir.part" "$dir"
    fi
    echo "$dir"
}

# build IMAGE CONTEXT [NAME=VALUE...] builds an image, and prints the path of its archive.
build() {
    local image=$1 context=$2 tar args=() arg
    shift 2
    for arg in "$@"; do args+=(--build-arg "$arg"); done
    tar=$(archive "$image")
    say "building $(ref "$image") for linux/$arch"
    rm -f "$tar"
    if [ $engine = docker ]; then
        docker build --quiet --platform "linux/$arch" -t "$(ref "$image")" -f "$here/$image/Dockerfile" "${args[@]}" "$context" >/dev/null
        docker save -o "$tar" "$(ref "$image")"
    else
        buildah_ bud --quiet --layers --isolation chroot --platform "linux/$arch" -t "$(ref "$image")" \
            -f "$here/$image/Dockerfile" "${args[@]}" "$context" >"$cache/build.log" 2>&1 ||
            { tail -n 20 "$cache/build.log" >&2; fail "cannot build $image"; }
        buildah_ push --quiet "$(ref "$image")" "docker-archive:$tar:$(ref "$image")"
    fi
    echo "$tar"
}

# The flags are the Makefile's.
go_build() { (cd "$repo" && CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -tags grpcnotrace -ldflags "-s -w -T 0x41b000" -o "$cache/context/$arch/$1" "./cmd/$2"); }

say "compiling the agent for linux/$arch"
go_build agent agent
go_build agent-launcher launcher
go_build agent-exporter exporter
build agent "$cache/context/$arch" # the other images copy from it
for image in "${images[@]}"; do
    case $image in
        agent) continue ;;
        controller) # in a context of its own, like the agent's binaries
            go_build "../controller-$arch/controller" controller
            cp "$cache/context/$arch/agent-exporter" "$cache/context/controller-$arch/"
            build controller "$cache/context/controller-$arch"
            continue
            ;;
    esac
    if [ "$arch" != "$host_arch" ] && ! ls /proc/sys/fs/binfmt_misc/qemu-* >/dev/null 2>&1; then
        fail "$image for linux/$arch cannot be built: its build runs programs of that platform" \
            "build it on such a machine, or install qemu-user-static and binfmt-support; the agent image needs neither"
    fi
    case $image in
        openmpi | mpich)
            from=$(base "$image")
            devel=$from
            if [ $engine = buildah ]; then devel=$(base devel); fi
            build "$image" "$repo" "BASE=$from" "DEVEL=$devel" "AGENT=$(ref agent)"
            ;;
        git) build git "$repo" "BASE=$(base git)" ;;
        frameworks) build frameworks "$repo" "BASE=$(base frameworks)" "AGENT=$(ref agent)" ;;
        plain) build plain "$repo" "BASE=$(base openmpi)" ;;
        bench) build bench "$repo" "BASE=$(base bench)" "AGENT=$(ref agent)" ;;
        noshell) build noshell "$repo" "OPENMPI=$(ref openmpi)" ;;
    esac
done
