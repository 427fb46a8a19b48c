package serve

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/kubeflow"
)

// print is the dry run. It writes the LaunchJobs of objects, ready for kubectl apply and with
// comments, once for each generation of an object.
type print struct {
	out  io.Writer
	mu   sync.Mutex
	seen map[string]bool
}

// object prints one object. If it cannot be served, who (the operator that has it) or sentence is
// printed in place of the LaunchJob.
func (p *print) object(o *unstructured.Unstructured, who string, job *v1alpha1.LaunchJob, warnings []kubeflow.Finding, sentence string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := fmt.Sprintf("%s/%d", o.GetUID(), o.GetGeneration())
	if p.seen[key] {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "---\n# dry run: %s %s/%s ", o.GetKind(), o.GetNamespace(), o.GetName())
	switch {
	case who != "":
		fmt.Fprintf(&text, "would be left alone: %s\n", who)
	case sentence != "":
		fmt.Fprintf(&text, "could not be served: %s\n", comment(sentence))
	default:
		text.WriteString("would become this\n")
		for _, w := range warnings {
			fmt.Fprintf(&text, "# not carried: %s\n", comment(says(w)))
		}
		body, err := yaml.Marshal(shown(job))
		if err != nil {
			return fmt.Errorf("print LaunchJob %s: %w", job.Name, err)
		}
		text.Write(body)
	}
	if _, err := io.WriteString(p.out, text.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	p.seen[key] = true
	return nil
}

// shown returns a job without values that a reader of this log should not see.
func shown(job *v1alpha1.LaunchJob) *v1alpha1.LaunchJob {
	job = job.DeepCopy()
	var pods []*corev1.PodSpec
	if l := job.Spec.Launcher; l != nil {
		pods = append(pods, &l.Template.Spec)
	}
	for i := range job.Spec.Roles {
		pods = append(pods, &job.Spec.Roles[i].Template.Spec)
	}
	for _, pod := range pods {
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) { // these variables are part of the job
			for i := range c.Env {
				if c.Env[i].Value != "" && framework.LooksSecret(c.Env[i].Name) {
					c.Env[i].Value = "(not shown)"
				}
			}
		}
	}
	return job
}

// comment keeps a sentence on one line.
func comment(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", " ") }
