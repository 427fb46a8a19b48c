// Package fakekube is a small API server for tests: real HTTP on a loopback port, the core/v1 pods of any
// namespace, and faults on demand.
//
// It speaks the wire protocol of list, get and watch as a Kubernetes API server does. It has resource versions,
// label selectors (a pod that stops matching is DELETED for that watch), bookmarks and timeoutSeconds. A resource
// version that is too old gets a 410 inside the stream, and errors have v1.Status bodies. Tests control the state:
// Set, Delete and Edit change pods; Fail, Compact, Drop, Stop and Start cause failures. A test that needs pods/exec
// registers a handler:
//
//	s.Handle("/api/v1/namespaces/{ns}/pods/{name}/exec", handler)
//
// Exec is such a handler. ServeSPDY is the part of it that container runtimes implement, for the kubelets of
// test/fault/server and of benchmarks. Logs serves pods/log in the same way, and cuts its connections where a test
// wants. Serve adds custom resources, without validation.
//
// It has no admission, no RBAC, no kubelet and no other kinds. A test that needs those needs a real cluster
// (test/lab/cluster). It answers 404 to unknown requests.
package fakekube
