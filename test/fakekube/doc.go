// Package fakekube is a small API server for tests: real HTTP on a loopback
// port, the core/v1 pods of any namespace, and faults on demand.
//
// It speaks the wire protocol of list, get and watch as a Kubernetes API server
// does: resource versions, label selectors (a pod that stops matching is
// DELETED for that watch), bookmarks, timeoutSeconds, the 410 that a too old
// resource version gets inside the stream, and v1.Status bodies for errors.
// Tests own the world: Set, Delete and Edit change pods; Fail, Compact, Drop,
// Stop and Start break things. pods/exec is served by whoever registers it:
//
//	s.Handle("/api/v1/namespaces/{ns}/pods/{name}/exec", handler)
//
// Exec is such a handler; ServeSPDY is its part that container runtimes have, for the
// kubelets of test/fault/server and of benchmarks. Logs serves pods/log likewise, and cuts its
// connections where a test says; Serve has custom resources, which nothing judges.
//
// It has no admission, no RBAC, no kubelet and no other kinds; where a test
// needs those it needs a real cluster (test/lab/cluster). It refuses what it does
// not know with 404 rather than guess.
package fakekube
