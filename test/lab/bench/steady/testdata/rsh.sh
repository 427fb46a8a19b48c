#!/bin/sh
# mpirun's remote shell without Muster: writes the command line to the worker's FIFO, and
# ends.
host=$1
shift
echo "$*" > "/shared/at-$host"
