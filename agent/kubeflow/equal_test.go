package kubeflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestTemplatesAreEqual checks that everything in a pod template of a manifest is also in the pods
// of that role, or a finding names it. The test does not depend on how a kind is converted.
func TestTemplatesAreEqual(t *testing.T) {
	seen := 0
	for _, c := range everything(t) {
		file, r, d, docs := c.file, c.Result, c.Document, c.all
		object, prefix := d.Object, ""
		if d.ID() == "TrainJob tune" {
			object, prefix = docs[0].Object, "runtime."
		}
		for path, template := range templatesOf(object, "") {
			out := outputs(r.Job, path)
			require.NotEmpty(t, out, "%s: %s has no role", file, path)
			for _, f := range told(t, template, prefix+path) {
				seen++
				if prefix != "" && f.ofTrainer() {
					continue
				}
				require.True(t, covered(r.Findings, f.path) || slices.ContainsFunc(out, f.in), "%s: %s: %v is neither in the job nor in a finding", file, f.path, f.value)
			}
		}
	}
	require.Greater(t, seen, 300)
}

// templatesOf returns the pod templates by their paths: objects named template whose spec has
// containers.
func templatesOf(value any, path string) map[string]any {
	all := map[string]any{}
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			template, _ := below.(map[string]any)
			spec, _ := template["spec"].(map[string]any)
			if key == "template" && spec["containers"] != nil {
				all[join(path, key)] = below
				continue
			}
			maps.Copy(all, templatesOf(below, join(path, key)))
		}
	case []any:
		for i, below := range v {
			maps.Copy(all, templatesOf(below, fmt.Sprintf("%s[%d]", path, i)))
		}
	}
	return all
}

// outputs returns the templates of the role in a path, or all templates if the path contains no
// role.
func outputs(job *v1alpha1.LaunchJob, path string) (all []map[string]any) {
	words := strings.Split(strings.ToLower(path), ".")
	add := func(role string, t corev1.PodTemplateSpec) {
		// In an elastic job, the launcher has the command of the workers.
		if job.Spec.Elastic != nil || !strings.Contains(path, "ReplicaSpecs") || slices.Contains(words, role) {
			all = append(all, plain(t))
		}
	}
	if l := job.Spec.Launcher; l != nil {
		add("launcher", l.Template)
	}
	for _, r := range job.Spec.Roles {
		add(r.Name, r.Template)
	}
	return all
}

func plain(v any) map[string]any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		panic(err)
	}
	return m
}

// fact is one value in a template. An entry of a list is identified by its name, or by its position
// if it has no name.
type fact struct {
	path  string // as in findings
	way   []any  // keys, numbers, and names of entries as [1]string
	value any
}

func told(t *testing.T, template any, path string) []fact {
	// Convert through the Go type, so that quantities have one spelling.
	raw, err := json.Marshal(template)
	require.NoError(t, err)
	var typed corev1.PodTemplateSpec
	unknown, err := strictly(raw, &typed)
	require.NoError(t, err)
	all := facts(plain(typed), path, nil)
	for _, field := range unknown {
		all = append(all, fact{path: path + "." + field, value: "unknown"})
	}
	return all
}

func facts(value any, path string, way []any) (all []fact) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, facts(v[key], join(path, key), append(slices.Clone(way), key))...)
		}
	case []any:
		for i, entry := range v {
			step := any(i)
			if m, ok := entry.(map[string]any); ok && m["name"] != nil {
				step = [1]string{fmt.Sprint(m["name"])}
			}
			all = append(all, facts(entry, fmt.Sprintf("%s[%d]", path, i), append(slices.Clone(way), step))...)
		}
	default:
		return []fact{{path, way, v}}
	}
	return all
}

// ofTrainer reports whether a TrainJob overrides the value of its runtime.
func (f fact) ofTrainer() bool {
	return slices.ContainsFunc([]string{"image", "command[", "args[", "env[0].value"}, func(key string) bool {
		return strings.Contains(f.path, ".containers[0]."+key)
	})
}

// in reports whether the template has the same value.
func (f fact) in(template map[string]any) bool {
	if f.way == nil {
		return false
	}
	var value any = template
	for _, step := range f.way {
		switch step := step.(type) {
		case string:
			m, _ := value.(map[string]any)
			value = m[step]
		case int:
			l, _ := value.([]any)
			if step >= len(l) {
				return false
			}
			value = l[step]
		case [1]string:
			l, _ := value.([]any)
			at := slices.IndexFunc(l, func(e any) bool { m, _ := e.(map[string]any); return m["name"] == step[0] })
			if at < 0 {
				return false
			}
			value = l[at]
		}
	}
	return reflect.DeepEqual(value, f.value)
}

// covered reports whether a finding names the path or one of its parents.
func covered(all []Finding, path string) bool {
	return slices.ContainsFunc(all, func(f Finding) bool {
		if strings.HasSuffix(f.Field, ".command") && strings.HasPrefix(path, strings.TrimSuffix(f.Field, "command")+"args") {
			return true // a finding names all words of a command together
		}
		return f.Field == path || strings.HasPrefix(path, f.Field+".") || strings.HasPrefix(path, f.Field+"[")
	})
}

// TestCounts checks that a job has as many pods of each type as its manifest.
func TestCounts(t *testing.T) {
	for _, file := range manifests(t, "testdata/*.yaml") {
		for _, d := range documents(t, file) {
			spec, _ := d.Object["spec"].(map[string]any)
			for key, specs := range spec {
				if !strings.HasSuffix(key, "ReplicaSpecs") {
					continue
				}
				r := Convert(d.Object, Options{})
				for name, one := range specs.(map[string]any) {
					want := int64(1)
					if n, ok := one.(map[string]any)["replicas"].(int64); ok {
						want = n
					}
					require.Equal(t, want, count(r.Job, strings.ToLower(name)), "%s: %s", file, name)
				}
			}
		}
	}
}

func count(job *v1alpha1.LaunchJob, role string) int64 {
	for _, r := range job.Spec.Roles {
		switch {
		case r.Name != role:
		case r.Replicas != nil:
			return int64(*r.Replicas)
		default:
			return int64(*job.Spec.Workers)
		}
	}
	if role == "launcher" && job.Spec.Launcher != nil {
		return 1
	}
	return 0
}

// TestTheObjectIsNotChanged checks that Convert does not change the caller's object.
func TestTheObjectIsNotChanged(t *testing.T) {
	for _, file := range manifests(t, "testdata/*.yaml") {
		docs := documents(t, file)
		before, err := json.Marshal(docs)
		require.NoError(t, err)
		for _, d := range docs {
			Convert(d.Object, Options{Runtimes: Runtimes(docs)})
		}
		after, err := json.Marshal(docs)
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after), file)
	}
}
