package kubeflow

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Document is one object of a file.
type Document struct {
	Object map[string]any
	Raw    []byte // as in the file; entries of a List are encoded again
}

// ID returns its kind and name, for people.
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

// Known reports whether Convert accepts it.
func (d Document) Known() bool { return knows(kindOf(d.Object)) }

// Foreign reports whether it belongs to one of Convert's groups, but in a version or kind that
// Convert does not know. Passing it through would start it under the old operator.
func (d Document) Foreign() bool {
	is := kindOf(d.Object)
	group, _, _ := strings.Cut(is.APIVersion, "/")
	ours := group == "kubeflow.org" || group == "batch.volcano.sh" || group == "trainer.kubeflow.org"
	return ours && strings.HasSuffix(is.Kind, "Job") && !d.Known()
}

// Read reads the documents of a stream of YAML or JSON. A List or an array gives its entries. Empty
// documents are left out. It returns an error for text that is not YAML, for a duplicate key, and
// for a document that is not an object.
func Read(in io.Reader) (all []Document, err error) {
	found, err := values(in)
	if err != nil {
		return nil, err
	}
	for n, v := range found {
		if all, err = unpack(all, v); err != nil {
			return nil, fmt.Errorf("read document %d: %w", n+1, err)
		}
	}
	return all, nil
}

// unpack adds a document, or the entries of a List or an array.
func unpack(all []Document, v value) (_ []Document, err error) {
	where, items := "", []any(nil)
	var is Kind
	switch data := v.data.(type) {
	case []any:
		items = data
	case map[string]any:
		if is = kindOf(data); !isList(data) {
			return append(all, Document{data, v.raw}), nil
		}
		where = "items"
		items, _ = data["items"].([]any)
	default:
		return nil, fmt.Errorf("not a Kubernetes object: %s", short(data))
	}
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s[%d] is not an object", where, i)
		}
		if kind := strings.TrimSuffix(is.Kind, "List"); kind != "" && kindOf(object) == (Kind{}) {
			object["apiVersion"], object["kind"] = is.APIVersion, kind // the API server leaves them out
		}
		raw, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", where, i, err)
		}
		if all, err = unpack(all, value{object, raw}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// isList distinguishes a list of objects from an object whose kind happens to end in List: a list
// has no name.
func isList(object map[string]any) bool {
	meta, _ := object["metadata"].(map[string]any)
	items, has := object["items"]
	_, array := items.([]any)
	return strings.HasSuffix(kindOf(object).Kind, "List") && has && (array || items == nil) && meta["name"] == nil
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

// YAML encodes a LaunchJob for kubectl apply.
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
