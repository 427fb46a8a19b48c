#!/bin/sh
# mpirun's remote shell without Muster: the line goes into the worker's FIFO, and
# this ends.
host=$1
shift
echo "$*" > "/shared/at-$host"
