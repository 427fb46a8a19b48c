// Package server is an API server and a kubelet for pods/exec, built from Kubernetes' own code. The API server uses
// k8s.io/apiserver's StreamTranslatorHandler for WebSockets and k8s.io/apimachinery's UpgradeAwareHandler for SPDY.
// The kubelet uses k8s.io/cri-streaming, with which container runtimes serve exec.
//
// The two talk HTTP over TCP to each other, so that a proxy can run between them. Both can answer the next requests
// for a pod with an error. There is no authentication and no TLS. Of the rest of the API there is only a list of
// one pod, which always exists.
package server
