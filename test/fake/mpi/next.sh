#!/bin/sh
# next.sh DIR: install the Open MPI of Debian's next release into DIR, where it runs on an older Debian.
#
# Open MPI 6, PRRTE and PMIx come with the libraries that they need, the C library too. Nothing of it is installed
# on the machine: the packages are unpacked into DIR/usr. patchelf makes the programs load the libraries from there.
# Their folders are compiled in, so a script of the same name sets the prefixes and runs the program. DIR has bin,
# lib and include as links, like a prefix.
#
# It downloads 110 MB, and takes a minute. It needs apt-get, patchelf and unshare, and exits with 1 if something fails.
set -eu

dir=$1
suite=${MUSTER_NEXT_DEBIAN:-forky}
rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
: >"$dir/apt/status" # an empty one: every library is downloaded
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$dir/apt/sources.list"

apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$dir/apt/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$dir/apt/lists" -o Dir::State::status="$dir/apt/status" -o Dir::Cache="$dir/apt/cache" \
		-o APT::Sandbox::User=root -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@" >/dev/null
}

apt update
apt install -y --no-install-recommends --download-only openmpi-bin
(cd "$dir/apt/cache/archives" && apt download libopenmpi-dev) # for its headers alone
for package in "$dir"/apt/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$dir"
done
rm -rf "$dir/apt"

# pod prints what makes a fake worker look like a pod to Open MPI 6, which cannot run on hosts that share a name: it
# looks for the daemon of a rank by that name. So each daemon gets a host name of its own. Between two names its own
# TCP refuses an address that both have, so ranks use UCX, and mpirun forgets the settings that fake workers have for TCP.
pod() {
	case $1 in
	# shellcheck disable=SC2016 # for the script
	prted) printf '%s' '[ -z "${MUSTER_FAKE_WORKER:-}" ] || [ "${MUSTER_FAKE_NAMED:-}" ] || ' \
		'MUSTER_FAKE_NAMED=yes exec unshare --uts sh -c '"'"'echo "w${MUSTER_FAKE_WORKER##*.}" >/proc/sys/kernel/hostname; exec "$0" "$@"'"'"' "$0" "$@"' ;;
	mpirun) echo 'unset OMPI_MCA_btl_tcp_if_include OMPI_MCA_oob_tcp_if_include' \
		'&& export OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any' ;;
	esac
}

lib=$(dirname "$(ls "$dir"/usr/lib/*/libmpi.so.*.0)")
own=$dir/usr/libexec/own
mkdir -p "$own"
for program in mpirun:mpirun.openmpi ompi_info:ompi_info prte:prte prterun:prte prted:prted; do
	name=${program%:*}
	cp "$dir/usr/bin/${program#*:}" "$own/.$name"
	mv "$own/.$name" "$own/$name"
	patchelf --set-interpreter "$lib/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$lib" "$own/$name"
done
for name in mpirun ompi_info prte prterun prted; do
	rm -f "$dir/usr/bin/$name"
	cat >"$dir/usr/bin/$name" <<-END
		#!/bin/sh
		$(pod "$name")
		export OPAL_PREFIX=$dir/usr OPAL_SYSCONFDIR=$dir/etc/openmpi PRTE_PREFIX=$dir/usr PRTE_PKGLIBDIR=$lib/prte
		export PMIX_PREFIX=$dir/usr PMIX_PKGLIBDIR=$(dirname "$(ls "$lib"/pmix2/lib/pmix/pmix_mca_* | head -n 1)")
		exec $own/$name "\$@"
	END
	chmod +x "$dir/usr/bin/$name"
done
ln -s usr/bin "$dir/bin"
ln -s "${lib#"$dir/"}" "$dir/lib"
ln -s "${lib#"$dir/"}/openmpi/include" "$dir/include"
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$dir/bin/mpirun" -n 1 true
touch "$dir/.whole"
