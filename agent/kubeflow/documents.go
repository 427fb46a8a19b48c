package kubeflow

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Document is one object of a file.
type Document struct {
	Object map[string]any
	Raw    []byte // as it stands in the file; made anew for the entries of a List
}

// ID is its kind and name, for people.
func (d Document) ID() string {
	is := kindOf(d.Object)
	meta, _ := d.Object["metadata"].(map[string]any)
	for _, key := range []string{"name", "generateName"} {
		if name, ok := meta[key].(string); ok && name != "" {
			return is.Kind + " " + name
		}
	}
	return is.Kind + " without a name"
}

// Known: Convert takes it.
func (d Document) Known() bool { return knows(kindOf(d.Object)) }

// Foreign: it is a job of one of Convert's groups in a version or of a kind that
// Convert does not know. To pass it through would start it under the old operator.
func (d Document) Foreign() bool {
	is := kindOf(d.Object)
	group, _, _ := strings.Cut(is.APIVersion, "/")
	ours := group == "kubeflow.org" || group == "batch.volcano.sh" || group == "trainer.kubeflow.org"
	return ours && strings.HasSuffix(is.Kind, "Job") && !d.Known()
}

// Read takes the documents out of a stream of YAML or JSON. A List gives its
// entries. Empty documents are left out. Errors: text that is no YAML, a key that
// is there twice, a document that is no object.
func Read(in io.Reader) (all []Document, err error) {
	docs := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for n := 1; ; n++ {
		raw, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read document %d: %w", n, err)
		}
		text, err := yaml.YAMLToJSONStrict(raw)
		if err != nil && bytes.Contains(raw, []byte("<<:")) {
			text, err = yaml.YAMLToJSON(raw) // the strict one takes a key beside a merge for a second one
		}
		if err != nil {
			return nil, fmt.Errorf("read document %d: %w", n, err)
		}
		if bytes.Equal(text, []byte("null")) {
			continue
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("read document %d: it is no object of Kubernetes: %w", n, err)
		}
		if all, err = unpack(all, Document{object, raw}); err != nil {
			return nil, fmt.Errorf("read document %d: %w", n, err)
		}
	}
}

// unpack adds a document, or a List's entries.
func unpack(all []Document, d Document) ([]Document, error) {
	items, list := d.Object["items"].([]any)
	if is := kindOf(d.Object); !list || !strings.HasSuffix(is.Kind, "List") {
		return append(all, d), nil
	}
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("items[%d] is no object", i)
		}
		raw, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		if all, err = unpack(all, Document{object, raw}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Runtimes finds the runtimes of TrainJobs among documents, for Options.
func Runtimes(all []Document) map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, d := range all {
		is := kindOf(d.Object)
		if meta, ok := d.Object["metadata"].(map[string]any); ok && strings.HasPrefix(is.APIVersion, "trainer.kubeflow.org/") && strings.HasSuffix(is.Kind, "TrainingRuntime") {
			name, _ := meta["name"].(string)
			found[is.Kind+"/"+name] = d.Object
		}
	}
	return found
}

// YAML writes a LaunchJob as kubectl apply takes it.
func YAML(job *v1alpha1.LaunchJob) ([]byte, error) {
	raw, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("write LaunchJob: %w", err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("write LaunchJob: %w", err)
	}
	delete(object, "status")
	return yaml.Marshal(object)
}

func kindOf(object map[string]any) Kind {
	version, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	return Kind{version, name}
}
