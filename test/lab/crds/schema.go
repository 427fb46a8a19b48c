package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

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

// leaf is a field with the way to it: names of fields, and numbers of list entries.
type leaf struct {
	path   []any
	schema schema
}

// String writes the path as findings do.
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

// objectMeta stands in for the metadata that CRDs do not describe.
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

// leaves lists the fields below s that have a value of their own. keys gives the keys
// of a map at a path: those that the least object has, else one of our own.
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
