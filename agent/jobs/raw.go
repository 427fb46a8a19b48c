package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/terminal"
)

// Read reads an object at a URL path of the API server into into. Errors are those of client-go.
// agent/doctor uses it for kinds that no verb needs.
func (a *API) Read(ctx context.Context, path string, params map[string]string, into any) error {
	r := a.client.Get().AbsPath(path)
	for name, value := range params {
		r = r.Param(name, value)
	}
	return do(ctx, r, &into)
}

// Review posts a review, such as a SelfSubjectAccessReview, and reads the answer into into. It
// changes nothing in the cluster.
func (a *API) Review(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode review: %w", err)
	}
	return do(ctx, a.client.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(text), &into)
}

// Host returns the address of the API server.
func (a *API) Host() string { return a.host() }

// Pods lists the pods of a job, the launcher first. Errors are those of client-go.
func (a *API) Pods(ctx context.Context, job string) ([]corev1.Pod, error) {
	list, err := a.pods(ctx, a.Namespace, job)
	var sorted []corev1.Pod
	for _, m := range podsOf(job, list) {
		sorted = append(sorted, *m.pod)
	}
	return sorted, err
}

// Size returns the number of pods of a role of the job.
func Size(job *v1alpha1.LaunchJob, r v1alpha1.Role) int { return replicas(job, r) }

// Answer is how a pod answered a command.
type Answer struct {
	Protocol string // WebSocket or SPDY
	Took     time.Duration
	Code     int    // exit code
	Said     string // the beginning of what it printed
}

// Ready runs `agent ready` in a pod, which changes nothing there.
func (a *API) Ready(ctx context.Context, pod *corev1.Pod) (Answer, error) {
	began := time.Now()
	c := terminal.Command{Namespace: pod.Namespace, Pod: pod.Name, Container: jobPod{pod: pod}.container(""), Argv: []string{names.AgentPath, "ready"}}
	got, err := terminal.Ask(ctx, a.config, c)
	return Answer{Protocol: got.Protocol, Took: time.Since(began), Code: got.Code, Said: oneLine(got.Said)}, err
}
