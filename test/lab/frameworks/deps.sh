#!/bin/sh
# deps.sh --ci | --all: install the Debian packages that the rows of test/lab/frameworks need.
#
#   --ci   packages for the environments of PyTorch, JAX, XGBoost and Open MPI 5:
#          venv, and gcc for torch's stand-in libraries
#   --all  these, the packages for compiling Horovod and DeepSpeed, and the
#          libraries that Paddle, LightGBM and MXNet expect
#
# Downloads nothing if all are installed. Exit: 0 all installed, 1 cannot install, 64 usage.
set -eu

missing() { # prints the packages of "FILE PACKAGE" lines on stdin whose file does not exist
	while read -r file package; do
		# shellcheck disable=SC2086 # a pattern
		ls $file >/dev/null 2>&1 || printf '%s ' "$package"
	done
}

ci_packages() {
	missing <<-'END'
		/usr/bin/python3 python3
		/usr/lib/python3*/ensurepip python3-venv
		/usr/bin/gcc gcc
		/usr/include/stdio.h libc6-dev
		/usr/lib/*/libgomp.so.1 libgomp1
	END
}

all_packages() {
	missing <<-'END'
		/usr/bin/g++ g++
		/usr/bin/cmake cmake
		/usr/include/python3*/Python.h python3-dev
		/usr/bin/mpirun.openmpi openmpi-bin
		/usr/bin/mpicc.openmpi libopenmpi-dev
		/usr/lib/*/libquadmath.so.0 libquadmath0
	END
}

case ${1:-} in
--ci) packages=$(ci_packages) ;;
--all) packages=$(ci_packages; all_packages) ;;
*) echo "usage: deps.sh --ci | --all" >&2; exit 64 ;;
esac
[ -n "$packages" ] || exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "deps.sh: missing: $packages; as root, on Debian: apt-get install $packages" >&2
	exit 1
fi
echo "deps.sh: installing $packages"
apt-get update -qq
# shellcheck disable=SC2086 # words are packages
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
