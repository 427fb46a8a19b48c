#!/bin/sh
# unprivileged.sh TEST [FLAG...]: run the compiled tests of this package as uid 65534, without HOME and SHELL, in a
# directory that is not writable.
#
#   go test -c -tags mpi -o fake.test ./test/fake
#   MUSTER_BIN=bin test/fake/unprivileged.sh fake.test -test.v
#
# MUSTER_BIN is the directory of agent and agent-launcher. They, the tests and the sources of the MPI programs are
# copied to a directory that all users can read, which a checkout below /root is not. It needs root, and setpriv of
# util-linux.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { echo "usage: MUSTER_BIN=DIR unprivileged.sh TEST [FLAG...]" >&2; exit 64; }
: "${MUSTER_BIN:?the directory of agent and agent-launcher}"
[ "$(id -u)" = 0 ] || { echo "unprivileged.sh: only root can become another user" >&2; exit 1; }
command -v setpriv >/dev/null || { echo "unprivileged.sh: setpriv not found; test/fake/mpi/deps.sh --test installs it" >&2; exit 1; }

stage=$(mktemp -d /tmp/unprivileged.XXXXXX)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/bin" "$stage/mpi" "$stage/readonly"
install -m 755 "$1" "$stage/fake.test"
install -m 755 "$MUSTER_BIN/agent" "$MUSTER_BIN/agent-launcher" "$stage/bin"
install -m 644 "$here"/mpi/*.c "$here"/mpi/*.h "$here"/mpi/*.py "$stage/mpi"
chmod 555 "$stage/readonly"
chmod 755 "$stage" "$stage/bin" "$stage/mpi"
shift

# A script's background processes ignore INT and QUIT, and Muster keeps ignored signals ignored.
cd "$stage/readonly"
setpriv --reuid 65534 --regid 65534 --clear-groups \
	env --default-signal=HUP,INT,QUIT -u HOME -u SHELL -u TMPDIR -u XDG_RUNTIME_DIR -u MUSTER_OUT MUSTER_BIN="$stage/bin" MUSTER_PROGRAMS="$stage/mpi" \
	sh -c 'if [ -w . ] || [ "$(id -u)" = 0 ]; then echo "unprivileged.sh: still privileged" >&2; exit 1; fi; exec "$@"' \
	sh "$stage/fake.test" "$@"
