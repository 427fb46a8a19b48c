package remote

import (
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"
)

// Target is the container in which a Dialer runs the agent's attach.
type Target struct {
	Namespace string
	Pod       string
	UID       string // UID of the pod; empty: accept any pod with this name
	Container string
	Agent     string // path of the agent binary in that container
}

func (t Target) String() string { return fmt.Sprintf("pod %s/%s", t.Namespace, t.Pod) }

// execURL returns the URL of the pod's exec subresource, with the parameters of PodExecOptions in
// core/v1.
func (t Target) execURL(cfg *rest.Config) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("read API server address: %w", err)
	}
	u := base.JoinPath("api", "v1", "namespaces", t.Namespace, "pods", t.Pod, "exec")
	u.RawQuery = url.Values{
		"command":   {t.Agent, "attach"},
		"container": {t.Container},
		"stdin":     {"true"},
		"stdout":    {"true"},
		"stderr":    {"true"},
	}.Encode()
	return u, nil
}
