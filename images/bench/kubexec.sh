#!/bin/sh
# mpirun's remote shell by kubectl: HOST is the pod's name, the rest one line of sh.
host=$1
shift
/opt/kube/kubectl exec "$host" -- /bin/sh -c "$*"
