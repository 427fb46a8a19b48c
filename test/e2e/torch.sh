#!/bin/sh
# torch.sh: print a directory with Debian 12's /usr that contains PyTorch 1.13.1. If it does not exist, it is
# created (root, mmdebstrap; 150 MB of packages, 1.2 GB unpacked). Pods mount it over their own /usr: an image would
# be unpacked again on each node.
#
# It is $MUSTER_TORCH_DIR, or else $XDG_CACHE_HOME/muster/torch, or else ~/.cache/muster/torch. If it exists,
# nothing is downloaded.
set -eu

dir=${MUSTER_TORCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/torch}
if [ ! -e "$dir/usr/lib/python3/dist-packages/torch/__init__.py" ]; then
	command -v mmdebstrap >/dev/null || {
		echo "torch.sh: mmdebstrap not found" >&2
		echo "hint: apt-get install mmdebstrap" >&2
		exit 1
	}
	mkdir -p "$dir"
	exec 9>"$dir/lock" # the lock ends with this process
	flock 9
	if [ ! -e "$dir/usr/lib/python3/dist-packages/torch/__init__.py" ]; then
		echo "torch.sh: unpacking Debian's python3-torch" >&2
		rm -rf --one-file-system "$dir/part"
		mmdebstrap --quiet --variant=minbase --include=python3-torch --dpkgopt=force-unsafe-io \
			--aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
			--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$dir/part" >&2
		mv "$dir/part/usr" "$dir/usr"
		rm -rf --one-file-system "$dir/part"
	fi
fi
echo "$dir/usr"
