//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

const (
	owner  = "muster.dev/serve-test" // label of the rows' namespaces
	label  = "muster.dev/serve"
	system = "muster-system"
)

//go:embed testdata
var testdata embed.FS

// world is one run of a row: its namespace and observations.
type world struct {
	row  row
	ns   string
	bin  string // directory of agent-launcher
	out  string // directory of the figures
	raw  map[string]any
	seen []string
}

// deploy restarts the controller, in the row's mode.
func (w *world) deploy(ctx context.Context) error {
	if err := kube.Controller(ctx, "images/deploy-kubeflow", time.Now().UTC().Format(time.RFC3339)); err != nil || w.row.mode == "" {
		return err
	}
	return turn(ctx, w.row.mode)
}

// turn changes the controller's flag, which restarts it.
func turn(ctx context.Context, mode string) error {
	const flag = "--serve-kubeflow"
	args, err := kube.Kubectl(ctx, system, nil, "get", "deployment", "muster-controller", "-o", `jsonpath={range .spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}`)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(strings.Split(args, "\n"), func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
	if at < 0 {
		return fmt.Errorf("the controller has no flag %s: %q", flag, args)
	}
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/template/spec/containers/0/args/%d", "value": "%s=%s"}]`, at, flag, mode)
	if _, err := kube.Kubectl(ctx, system, nil, "patch", "deployment", "muster-controller", "--type=json", "--patch", patch); err != nil {
		return err
	}
	_, err = kube.Kubectl(ctx, system, nil, "rollout", "status", "deployment/muster-controller", "--timeout=100s")
	return err
}

// open creates the row's namespace, with the label for serving.
func (w *world) open(ctx context.Context) error {
	w.ns = "serve-" + w.row.key + "-" + strings.ToLower(rand.Text()[:5])
	if err := kube.Open(ctx, w.ns, owner); err != nil {
		return err
	}
	return w.kubectl(ctx, "label", "namespace", w.ns, label+"=true")
}

func (w *world) close(ctx context.Context) error {
	return w.kubectl(ctx, "delete", "namespace", w.ns, "--timeout=90s")
}

func (w *world) kubectl(ctx context.Context, args ...string) error {
	_, err := kube.Kubectl(ctx, w.ns, nil, args...)
	return err
}

// apply creates the objects of a file in testdata, after replacing NAME and the other placeholders in fill.
// By default, a PyTorchJob's processes run for 4 SECONDS.
func (w *world) apply(ctx context.Context, file string, fill ...string) error {
	text, err := testdata.ReadFile("testdata/" + file)
	if err != nil {
		return err
	}
	_, err = kube.Kubectl(ctx, w.ns, []byte(strings.NewReplacer(append(fill, "SECONDS", "4", "SUSPEND", "false")...).Replace(string(text))), "apply", "-f", "-")
	return err
}

// becomes waits for a condition with kubectl wait.
func (w *world) becomes(ctx context.Context, object, condition string) error {
	return w.kubectl(ctx, "wait", "--for=condition="+condition, object, "--timeout=100s")
}

// get reads an object.
func (w *world) get(ctx context.Context, object string) (*unstructured.Unstructured, error) {
	text, err := kube.Kubectl(ctx, w.ns, nil, "get", object, "-o", "json")
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	return o, json.Unmarshal([]byte(text), &o.Object)
}

// names lists objects by name, sorted.
func (w *world) names(ctx context.Context, kind string, args ...string) (string, error) {
	text, err := kube.Kubectl(ctx, w.ns, nil, append([]string{"get", kind, "--sort-by=.metadata.name", "-o", "jsonpath={.items[*].metadata.name}"}, args...)...)
	return text, err
}

// conditions returns the conditions of an object in their order: Created=True(PyTorchJobCreated) ...
func conditions(o *unstructured.Unstructured) string {
	var all []string
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		all = append(all, fmt.Sprintf("%v=%v(%v)", c["type"], c["status"], c["reason"]))
	}
	return strings.Join(all, " ")
}

// replicas returns the counts in an object's status.
func replicas(o *unstructured.Unstructured) string {
	counts, _, _ := unstructured.NestedMap(o.Object, "status", "replicaStatuses")
	for _, c := range counts {
		delete(c.(map[string]any), "selector")
	}
	text, _ := json.Marshal(counts)
	return string(text)
}

// shows returns the output of kubectl get for an object, without its age.
func (w *world) shows(ctx context.Context, object string) (string, error) {
	text, err := kube.Kubectl(ctx, w.ns, nil, "get", object)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	age := slices.Index(strings.Fields(lines[0]), "AGE")
	for i := range lines {
		fields := strings.Fields(lines[i])
		if age >= 0 && age < len(fields) {
			fields = slices.Delete(fields, age, age+1)
		}
		lines[i] = strings.Join(fields, " ")
	}
	w.raw[object] = strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines, "|"), err
}

// succeeds waits until an object has succeeded, and returns it and its columns.
func (w *world) succeeds(ctx context.Context, object string) (o *unstructured.Unstructured, columns string, err error) {
	if err := w.becomes(ctx, object, "Succeeded"); err != nil {
		return nil, "", err
	}
	if o, err = w.get(ctx, object); err != nil {
		return nil, "", err
	}
	w.raw["status"] = o.Object["status"]
	columns, err = w.shows(ctx, object)
	return o, columns, err
}

// same returns an error if want and got differ.
func same(what, want, got string) error {
	if want != got {
		return fmt.Errorf("%s:\n  want %s\n  have %s", what, want, got)
	}
	return nil
}

// see adds an observation to the table.
func (w *world) see(format string, args ...any) {
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
}

// record records the row as a figure.
func (w *world) record(good bool) error {
	w.raw["seen"] = w.seen
	samples := figure.Series{Unit: "rows", Samples: []float64{1}, Reduce: "sum"}
	if !good {
		samples.Samples[0] = 0
	}
	w.raw["row"] = samples
	_, err := figure.Keep(w.out, "make e2e-kubeflow", "serve-"+w.row.key, w.raw,
		figure.Row{Name: "served in place: " + w.row.what, Op: "==", Bar: 1, Log: "row"})
	return err
}

// eventually calls look repeatedly until it returns nil.
func eventually(ctx context.Context, limit time.Duration, look func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := look()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// trainingOperator returns the files of training-operator's custom resources.
func trainingOperator(ctx context.Context) ([]string, error) {
	m := program.Module{Dir: "test/lab/kubeflow", Path: "github.com/kubeflow/training-operator", Commands: []string{"pkg/apis/kubeflow.org/v1"}}
	dir, err := m.Source(ctx)
	if err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "manifests", "base", "crds", "kubeflow.org_*.yaml"))
}

// operate starts mpi-operator for all namespaces.
func (w *world) operate(ctx context.Context) (*program.Process, error) {
	return operator.StartMPI(ctx, filepath.Join(w.out, "raw", "serve-mpi-operator.log"), w.ns)
}
