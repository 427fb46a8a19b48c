// Package e2e runs real MPI jobs on a real cluster. It uses the images of images/, the plain manifests of
// manifests/, pods on every node, a Role with only the launcher's rights, and Pod Security "restricted". No part of
// the agent is replaced by a test double.
//
//	make cluster-up
//	go test -tags e2e ./test/e2e/ -run TestExitCode
//
// `make e2e` starts the cluster, builds the images, loads them and runs everything.
//
// # Requirements
//
// The tests need the environment that `test/lab/cluster env` prints: KUBECONFIG, MUSTER_KUBECTL, and, on the
// cluster of test/lab/cluster, MUSTER_CLUSTER. That is the program that breaks things, and tests that need it fail
// without it. On your own cluster, skip them with -skip Break. The images must be loaded:
//
//	images/build.sh | xargs test/lab/cluster load    (make e2e does so)
//
// TestPasteReadme and TestPastePages paste the command blocks of README.md and docs that test/suite/page finds.
// TestNotebook and TestPipelines run the programs of docs/guides/python.md and docs/guides/pipelines.md. Except for
// the README's commands, these tests are not part of `make e2e`, because some need packages of PyPI: see make
// e2e-paste, e2e-python and e2e-pipelines.
//
// TestCareStops (make e2e-care) evicts and deletes the pods of the programs of test/suite/care, each in its own
// LaunchJob. They write their checkpoints to directories of this machine. Other MPIs, numactl, PyTorch, JAX and
// Horovod are mounted from this machine too, so it runs only on the cluster of test/lab/cluster. Five of these
// cells are part of make e2e.
//
// MUSTER_E2E_KEEP=1 keeps the namespaces of tests that failed.
//
// # Writing a row
//
// A space is a namespace for one test. A job is the objects of manifests/pi.yaml under another name, with a
// different number of workers:
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
// The field edit of a job changes a pod before it is created, so that a row about a missing image or an impossible
// node selector only has that change. Of a space, follow returns a container's lines as they are written, exec runs
// a command as `kubectl exec` does, and report returns the launcher's --report. To wait, use watches (`kubectl
// wait`, `kubectl logs -f`), not sleeps. When a test fails, its pods, events and logs are printed before its
// namespace is deleted.
//
// # Faults
//
// TestBreak (fault_*_test.go) keeps three jobs of twenty workers for all of its rows: Open MPI, MPICH, and raw
// sessions with numbered lines in both directions. For each row three new launchers are created, and the fault
// strikes in the middle of the work. A job that survives must lose no line and exit with 0. A job that does not
// must exit with another code, in time, with a line that names the worker. Then every worker is searched for
// processes, from outside. The table of what users see is printed at the end of the run. To add a row:
//
//	{event: "a worker's disk is full", limit: 30 * time.Second, victim: 2, strike: fill}
//
// These tests read /proc of the nodes, so they run only on the cluster of test/lab/cluster.
//
// Figures are recorded through test/suite/figure with their raw numbers.
package e2e
