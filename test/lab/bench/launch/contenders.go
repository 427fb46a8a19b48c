//go:build linux

package main

import "fmt"

// contender is one way to launch.
type contender struct {
	name     string
	launcher string // pod
	pid1     []string
	// script gets ready and then runs hold, which stands at %s; %d is the number of workers.
	script string
	env    []string // of mpirun
}

// hold says that all is ready, waits for a word, and becomes mpirun. A rank says its
// number and stays for as long as the word says.
const hold = `echo ready; read -r stay; exec mpirun sh -c 'echo rank $OMPI_COMM_WORLD_RANK; exec sleep '$stay </dev/null`

const (
	kubexecPod = "launch-kubexec"
	slowPod    = "launch-slowdns"
	sshPod     = "launch-ssh"
	musterPod  = "launch-muster"
	floorPod   = "launch-nsenter"
)

// root is what mpirun wants before it runs as root, and that nobody binds ranks: the
// pods' cores are the node's.
var root = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_hwloc_base_binding_policy=none",
	"OMPI_MCA_orte_default_hostfile=/tmp/hostfile"}

// contenders in the order of their turns. The operators' settings are those that
// they give to Open MPI. Below 65 workers the tree of Open MPI, which they leave
// on, has mpirun start every daemon itself too.
func contenders() []contender {
	kubexec := contender{
		name: "kubexec", launcher: kubexecPod, pid1: []string{"sleep", "inf"},
		// A job has a launcher of its own, whose kubectl knows nothing yet.
		script: `rm -rf /root/.kube; /bench/inpod wait -workers %d -hosts && ` + hold,
		env:    append([]string{"OMPI_MCA_plm_rsh_agent=/opt/bench/kubexec.sh"}, root...),
	}
	unknown := kubexec
	unknown.name = "kubexec-unknown"
	unknown.script = `rm -rf /root/.kube; /bench/inpod wait -workers %d -hosts && echo 127.0.0.1 localhost > /etc/hosts && ` + hold
	slow := unknown
	slow.name, slow.launcher = "kubexec-slowdns", slowPod
	return []contender{
		kubexec,
		unknown,
		slow,
		{
			name: "ssh", launcher: sshPod, pid1: []string{"/usr/sbin/sshd", "-De"},
			script: `/bench/inpod wait -workers %d && ` + hold,
			env:    append([]string{"OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10", "OMPI_MCA_orte_keep_fqdn_hostnames=true"}, root...),
		},
		{
			name: "muster", launcher: musterPod, pid1: []string{"/muster/agent", "worker"},
			// A script of this name, since agent run goes by it.
			script: `printf '#!/bin/sh\n%%s\n' "$HOLD" > /bench/mpirun; chmod 755 /bench/mpirun; exec agent run --keep-workers --job=launch --workers=%d -- /bench/mpirun`,
			env:    []string{"HOLD=" + hold},
		},
		{
			name: "nsenter", launcher: floorPod,
			script: `n=$((256 + 8 * %d)); ulimit -Sn $((n > 1024 ? n : 1024)); ` + hold, // as agent run does
			env: append([]string{"OMPI_MCA_plm_rsh_agent=/bin/sh /tmp/agent", "OMPI_MCA_plm_rsh_no_tree_spawn=1", "OMPI_MCA_plm_rsh_num_concurrent=128",
				"OMPI_MCA_orte_keep_fqdn_hostnames=0"}, root...),
		},
	}
}

// execFloor is no launch: the time of opening and ending an exec for each worker.
const execFloor = "exec"

func names() (all []string) {
	for _, c := range contenders() {
		all = append(all, c.name)
	}
	return append(all, execFloor)
}

// line is the script for so many workers.
func (c contender) line(workers int) string { return fmt.Sprintf(c.script, workers) }
