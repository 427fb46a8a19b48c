// Package server is an API server and a kubelet for pods/exec, put together
// from Kubernetes' own parts: k8s.io/apiserver's StreamTranslatorHandler for
// WebSockets and k8s.io/apimachinery's UpgradeAwareHandler for SPDY in front of
// k8s.io/cri-streaming, which is what container runtimes serve exec with.
//
// The two speak HTTP over TCP to each other, so that a proxy can stand between
// them. Both can be told to answer the next requests for a pod with an error.
// There is no authentication and no TLS, and of the rest of the API only a list
// of one pod, which always exists.
package server
