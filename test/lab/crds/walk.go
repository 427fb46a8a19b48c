package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/kubeflow"
)

// fate is what the conversion does with a field.
type fate string

const (
	carried fate = "carried"
	named   fate = "named"
	neither fate = "NEITHER"
)

// walked is a field and its fate.
type walked struct {
	field string
	fate  fate
}

// convert converts an object. If the object is a runtime, it converts a TrainJob that uses it.
type convert func(object any) kubeflow.Result

// walk converts the smallest object with each field of its schema in turn.
func walk(s schema, least map[string]any, prefix string, do convert) ([]walked, error) {
	base := do(least)
	if base.Job == nil {
		return nil, fmt.Errorf("the smallest object does not convert: %v", base.Findings)
	}
	was, err := json.Marshal(base.Job)
	if err != nil {
		return nil, err
	}
	var all []walked
	for _, l := range leaves(s, nil, keys(least)) {
		if at := l.String(); at == "apiVersion" || at == "kind" {
			continue
		}
		v := value(l)
		is, err := judge(do(set(least, l.path, v)), base, string(was), prefix+l.String(), v)
		if err != nil {
			return nil, err
		}
		all = append(all, walked{l.String(), is})
	}
	return all, nil
}

// judge returns the fate of the field at path.
func judge(r, base kubeflow.Result, was, path string, v any) (fate, error) {
	for _, f := range r.Findings {
		if !slices.Contains(base.Findings, f) && about(f.Field, path) {
			return named, nil
		}
	}
	if r.Job == nil {
		return neither, nil
	}
	is, err := json.Marshal(r.Job)
	switch {
	case err != nil:
		return "", err
	case v == marker && !strings.Contains(string(is), marker) || string(is) == was:
		return neither, nil
	}
	return carried, nil
}

// about reports whether a finding's field is path, or is above or below it. A finding about the
// whole spec does not count.
func about(field, path string) bool {
	if field == "" || field == "spec" || field == "kind" || field == "runtime" || field == "runtime.spec" {
		return false
	}
	return field == path || below(field, path) || below(path, field)
}

func below(path, field string) bool {
	return strings.HasPrefix(path, field+".") || strings.HasPrefix(path, field+"[")
}

// schema is a part of a CRD's openAPIV3Schema.
type schema map[string]any

func (s schema) child(key string) schema {
	m, _ := s[key].(map[string]any)
	return m
}

func (s schema) kind() string {
	if anyInt, _ := s["x-kubernetes-int-or-string"].(bool); anyInt {
		return "string"
	}
	kind, _ := s["type"].(string)
	return kind
}

// version finds the schema of a version in a CRD.
func version(crd map[string]any, name string) (schema, error) {
	versions, _ := schema(crd).child("spec")["versions"].([]any)
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["name"] == name {
			return schema(v).child("schema").child("openAPIV3Schema"), nil
		}
	}
	return nil, fmt.Errorf("the CRD has no version %s", name)
}

// leaf is a field and the path to it: names of fields, and indexes of list entries.
type leaf struct {
	path   []any
	schema schema
}

// String formats the path as findings do.
func (l leaf) String() string {
	var out strings.Builder
	for i, step := range l.path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&out, "[%d]", step)
		case string:
			if i > 0 {
				out.WriteByte('.')
			}
			out.WriteString(step)
		}
	}
	return out.String()
}

// objectMeta returns the schema of metadata, which CRDs do not describe.
func objectMeta() schema {
	text, texts := map[string]any{"type": "string"}, map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	all := map[string]any{"labels": texts, "annotations": texts, "finalizers": map[string]any{"type": "array", "items": text},
		"generation": map[string]any{"type": "integer"}, "deletionGracePeriodSeconds": map[string]any{"type": "integer"},
		"ownerReferences": map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"name": text, "uid": text, "kind": text, "apiVersion": text}}},
		"managedFields":   map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"manager": text, "operation": text}}},
	}
	for _, key := range []string{"name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"} {
		all[key] = text
	}
	for _, key := range []string{"creationTimestamp", "deletionTimestamp"} {
		all[key] = map[string]any{"type": "string", "format": "date-time"}
	}
	return schema{"type": "object", "properties": all}
}

// leaves returns the fields below s that have a value of their own. keys returns the keys
// of a map at a path: the keys in the smallest object, or a key of our own if that map is empty.
func leaves(s schema, path []any, keys func([]any) []string) (all []leaf) {
	properties, more, items := s.child("properties"), s.child("additionalProperties"), s.child("items")
	if len(path) > 0 && path[len(path)-1] == "metadata" && len(properties) == 0 {
		properties = objectMeta().child("properties")
	}
	switch {
	case len(properties) > 0:
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			all = append(all, leaves(properties.child(key), extend(path, key), keys)...)
		}
	case len(more) > 0:
		for _, key := range keys(path) {
			all = append(all, leaves(more, extend(path, key), keys)...)
		}
	case len(items) > 0:
		all = leaves(items, extend(path, 0), keys)
	default:
		all = []leaf{{path, s}}
	}
	return all
}

func extend(path []any, step any) []any { return append(slices.Clone(path), step) }

// look returns the value at a path, or nil.
func look(value any, path []any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := value.(map[string]any)
			value = m[step]
		case int:
			l, _ := value.([]any)
			if step >= len(l) {
				return nil
			}
			value = l[step]
		}
	}
	return value
}

// set returns a copy of value that has v at path. It creates missing objects and list entries on the way.
func set(value any, path []any, v any) any {
	if len(path) == 0 {
		return v
	}
	switch step := path[0].(type) {
	case string:
		m, _ := value.(map[string]any)
		if m = maps.Clone(m); m == nil {
			m = map[string]any{}
		}
		m[step] = set(m[step], path[1:], v)
		return m
	case int:
		l, _ := value.([]any)
		if l = slices.Clone(l); step >= len(l) {
			l = append(l, nil)
		}
		l[step] = set(l[step], path[1:], v)
		return l
	}
	return value
}

// keys returns a function for the keys of the map at a path in the smallest object.
func keys(least any) func([]any) []string {
	return func(path []any) []string {
		m, _ := look(least, path).(map[string]any)
		var all []string
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !strings.Contains(key, ".") {
				all = append(all, key)
			}
		}
		if len(all) == 0 || strings.HasSuffix(leaf{path: path}.String(), "abels") {
			all = []string{"walked"}
		}
		return all
	}
}

// marker is the value of text fields, so that they can be found in the result.
const marker = "walked-7"

// meaning has values for fields that accept only certain values. None is the default. If several
// path suffixes match, the longest one is used.
var meaning = map[string]any{
	"cleanPodPolicy":                       "All",
	"backoffLimit":                         int64(7),
	"BackoffLimit":                         int64(7),
	"maxRetry":                             int64(7),
	"minAvailable":                         int64(1),
	"replicas":                             int64(3),
	"numNodes":                             int64(3),
	"gpus":                                 int64(2),
	"processingUnits":                      int64(2),
	"elasticPolicy.minReplicas":            int64(1),
	"elasticPolicy.maxReplicas":            int64(5),
	"managedBy":                            "kueue.x-k8s.io/multikueue",
	"successPolicy":                        "AllWorkers",
	"nprocPerNode":                         "4",
	"numProcPerNode":                       int64(4),
	"schedulingPolicy.queue":               marker,
	"rdzvBackend":                          "etcd",
	"mpiImplementation":                    "OpenMPI",
	"mpiDistribution":                      "MPICH",
	"launcherCreationPolicy":               "WaitForWorkersReady",
	"mainContainer":                        "side",
	"processingResourceType":               "cpu",
	"creationTimestamp":                    "2024-05-01T10:00:00Z",
	"deletionTimestamp":                    "2024-05-01T10:00:00Z",
	"time":                                 "2024-05-01T10:00:00Z",
	"jobMode":                              "MXTune",
	"mlPolicy.mpi.runLauncherAsNode":       true,
	"template.spec.replicatedJobs[0].name": "renamed",
	"metadata.name":                        marker,
	"runningEstimate":                      "1h",
}

// value returns a plausible value for a leaf.
func value(l leaf) any {
	path := l.String()
	best := ""
	for end := range meaning {
		if (path == end || strings.HasSuffix(path, "."+end)) && len(end) > len(best) && !inTemplate(path, end) {
			best = end
		}
	}
	if best != "" {
		return meaning[best]
	}
	if options, ok := l.schema["enum"].([]any); ok && len(options) > 0 {
		for _, option := range options {
			if option != l.schema["default"] && option != "" {
				return option
			}
		}
	}
	switch l.schema.kind() {
	case "integer":
		return int64(7)
	case "number":
		return 7.5
	case "boolean":
		return l.schema["default"] != true
	case "array":
		return []any{map[string]any{marker: marker}}
	case "object", "":
		return map[string]any{marker: marker}
	}
	switch {
	case l.schema["format"] == "date-time":
		return "2024-05-01T10:00:00Z"
	case quantity(l):
		return "7"
	}
	return marker
}

// inTemplate reports whether the field is in a pod, where the names in meaning do not apply.
func inTemplate(path, end string) bool {
	return strings.Contains(path, "template.spec.") && !strings.Contains(end, "replicatedJobs") &&
		!strings.HasSuffix(path, "imestamp") && !strings.Contains(path, "replicatedJobs") && end != "metadata.name"
}

// quantity reports whether the field is a resource quantity, or an int-or-string.
func quantity(l leaf) bool {
	anyInt, _ := l.schema["x-kubernetes-int-or-string"].(bool)
	return anyInt
}
