package jobs

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// marshal encodes a job as a user would write it, without empty fields.
func marshal(job *v1alpha1.LaunchJob) ([]byte, error) {
	if job.ManagedFields != nil {
		job = job.DeepCopy()
		job.ManagedFields = nil // as in kubectl
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("encode job: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("encode job: %w", err)
	}
	tidy(tree)
	text, err = json.MarshalIndent(tree, "", "    ")
	if err != nil {
		return nil, fmt.Errorf("encode job: %w", err)
	}
	return append(text, '\n'), nil
}

// tidy removes empty values that Go writes for unset fields.
func tidy(tree map[string]any) {
	for key, value := range tree {
		if inner, ok := value.(map[string]any); ok {
			tidy(inner)
			if len(inner) == 0 && (key == "status" || key == "resources" || key == "metadata" || key == "spec") {
				delete(tree, key)
			}
		}
		if list, ok := value.([]any); ok {
			for _, item := range list {
				if inner, ok := item.(map[string]any); ok {
					tidy(inner)
				}
			}
		}
		if value == nil {
			delete(tree, key)
		}
	}
}

// PrintList writes jobs as a List in json or yaml, like kubectl.
func PrintList(w io.Writer, list []v1alpha1.LaunchJob, format string) error {
	items := []json.RawMessage{}
	for i := range list {
		text, err := marshal(&list[i])
		if err != nil {
			return err
		}
		items = append(items, text)
	}
	text, err := json.MarshalIndent(map[string]any{
		"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]string{"resourceVersion": ""},
	}, "", "    ")
	if err != nil {
		return fmt.Errorf("encode jobs: %w", err)
	}
	return write(w, append(text, '\n'), format)
}

// Print writes a job as json or yaml.
func Print(w io.Writer, job *v1alpha1.LaunchJob, format string) error {
	text, err := marshal(job)
	if err != nil {
		return err
	}
	return write(w, text, format)
}

func write(w io.Writer, text []byte, format string) (err error) {
	if format == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return fmt.Errorf("encode jobs: %w", err)
		}
	}
	_, err = w.Write(text)
	return err
}
