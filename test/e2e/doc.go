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
// The environment that `test/cluster env` prints: KUBECONFIG, MUSTER_KUBECTL,
// and, on the cluster that it made itself, MUSTER_CLUSTER, the program that
// breaks things. Tests that need that program fail without it; on a cluster of
// your own leave them away with -skip Break. The images must be there:
//
//	images/build.sh | xargs test/cluster load    (make e2e does so)
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
// Figures go through test/suite/figure with their raw numbers.
package e2e
