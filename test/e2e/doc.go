// Package e2e runs real MPI jobs on a real cluster: the images of images/, the
// plain manifests of manifests/, pods on every node, a Role with nothing but
// what the launcher needs, Pod Security "restricted". Nothing of the agent is
// replaced by a double.
//
//	make cluster-up
//	go test -tags e2e ./test/e2e/ -run TestOpenMPI
//
// `make e2e` brings the cluster up, builds the images, loads them and runs all.
//
// # What it takes
//
// The environment that `test/lab/cluster env` prints: KUBECONFIG, MUSTER_KUBECTL,
// and, on the cluster that it made itself, MUSTER_CLUSTER, the program that
// breaks things. Tests that need that program fail without it; on a cluster of
// your own leave them away with -skip Break. The images must be there:
//
//	images/build.sh | xargs test/lab/cluster load    (make e2e does so)
//
// TestTorch mounts Debian's PyTorch from the nodes' disk (torch.sh makes the
// directory, 1.2 GB): only on the cluster of test/lab/cluster, too.
//
// TestPasteReadme and TestPastePages paste the command blocks of README.md and docs, as
// test/suite/page finds them. TestNotebook and TestPipelines run the programs of docs/guides/python.md and
// docs/guides/pipelines.md. But for the README's, these are no part of `make e2e`, as some take
// packages of PyPI: make e2e-paste, e2e-python, e2e-pipelines.
//
// TestCareStops (make e2e-care) evicts and deletes the pods of the programs of test/suite/care, each in
// a LaunchJob of its own. They write their checkpoints to directories of this machine. numactl, other
// MPIs, PyTorch, JAX and Horovod are mounted from it, too: only on the cluster of test/lab/cluster.
// make e2e plays five of these cells.
//
// MUSTER_E2E_KEEP=1 keeps the namespaces of tests that failed.
//
// # Writing a row
//
// A space is a namespace of the test's own; a job is the objects of
// manifests/pi.yaml under another name, with more or fewer workers:
//
//	func TestRow(t *testing.T) {
//		t.Parallel() // figures and rows that break the cluster do not
//		s := newSpace(t)
//		j := job{name: "row", image: "openmpi", workers: 2, slots: 2,
//			command: []string{"mpirun", "/opt/muster-test/hello"}}
//		s.start(j)
//		end := s.end("row-launcher", time.Minute)
//		require.Zero(t, end.code, end.log)
//		require.Equal(t, []int{2, 2}, ranksPerWorker(end.log, j))
//	}
//
// job.edit changes a pod before it is created, so that a row about a missing
// image or an impossible node selector says just that. s.follow gives a
// container's lines as they come, s.exec runs a command as `kubectl exec`
// does, s.report is what the launcher wrote for --report. Waits are watches
// (`kubectl wait`, `kubectl logs -f`), never sleeps. What a failed test leaves,
// pods, events and logs, is printed before its namespace goes.
//
// # Faults
//
// TestBreakLinks, TestBreakWorkers and TestBreakLaunchers (fault_*_test.go) each
// keep three jobs of twenty workers: Open MPI, MPICH, and raw sessions with
// numbered lines both ways. For each row the three launchers start anew, are
// struck in the middle, and are judged: what was survived lost no line and ends
// with 0, what was not ends with another code, in time, with a line that names
// the worker. Then every worker is searched for processes, from outside. The
// table of what users see is printed at the end of the run. To add a row:
//
//	{event: "a worker's disk is full", limit: 30 * time.Second, victim: 2, strike: fill}
//
// These look into /proc of the nodes: only on the cluster of test/lab/cluster.
//
// Figures go through test/suite/figure with their raw numbers.
package e2e
