#!/bin/sh
# mpirun's remote shell over kubectl exec: HOST is the pod's name, the other arguments are a line of sh.
host=$1
shift
/opt/kube/kubectl exec "$host" -- /bin/sh -c "$*"
