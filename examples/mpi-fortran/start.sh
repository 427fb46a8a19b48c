# Installs Open MPI and gfortran unless the image has them, compiles pi.f90, and
# starts the command that follows.
set -eu
if ! command -v mpif90 >/dev/null; then
	apt-get -qq update
	apt-get -qq install -y --no-install-recommends gfortran libopenmpi-dev openmpi-bin >/dev/null
fi
case $(mpif90 --version) in
*nvfortran*) flags='-O2 -mp=gpu' ;;
*) flags=-O2 ;;
esac
mpif90 $flags -o /tmp/pi "$(dirname "$0")/pi.f90"
exec "$@"
