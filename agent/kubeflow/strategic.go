package kubeflow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// strategic merges patch into have, both as decoded by JSON, like the default of kubectl patch
// (Kubernetes' strategic merge patch). null removes a field. Objects are merged by field. So are
// lists whose entries have a key according to the type; other lists are replaced. t is the type of
// both. It returns an error for directives ($patch, $retainKeys...) and for entries without their
// key.
//
// Kubernetes' own package for this needs protobuf and OpenAPI, which would make the launcher a
// third larger. strategic_test.go compares its result for a pod template with this one.
func strategic(have, patch map[string]any, t reflect.Type) (map[string]any, error) {
	merged := map[string]any{}
	for name, value := range have {
		merged[name] = value
	}
	for name, value := range patch {
		if strings.HasPrefix(name, "$") {
			return nil, fmt.Errorf("%s: merge directives are not supported: write the whole field", name)
		}
		if value == nil {
			delete(merged, name)
			continue
		}
		kind, key, merges := fieldOf(t, name)
		var err error
		switch there := merged[name].(type) {
		case map[string]any:
			if over, ok := value.(map[string]any); ok {
				value, err = strategic(there, over, kind)
			}
		case []any:
			if over, ok := value.([]any); ok && merges {
				value, err = strategicList(there, over, kind, key)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		merged[name] = value
	}
	return merged, nil
}

// strategicList merges lists whose entries have a key, or, without a key, lists of values. The
// order is Kubernetes': entries of the patch keep their order, as do those of the list, and new
// entries come before those that are only in the list.
func strategicList(have, patch []any, t reflect.Type, key string) (merged []any, err error) {
	only := make([]bool, len(have)) // in the list, but not in the patch
	for i := range only {
		only[i] = true
	}
	at := make([]int, len(patch)) // index in the list of each entry of the patch; -1: it is new
	for n, entry := range patch {
		over, ok := entry.(map[string]any)
		if ok && over[key] == nil || !ok && key != "" {
			return nil, fmt.Errorf("an entry has no %s, which identifies entries of this list", key)
		}
		at[n] = slices.IndexFunc(have, func(e any) bool {
			there, _ := e.(map[string]any)
			return ok && reflect.DeepEqual(there[key], over[key]) || !ok && reflect.DeepEqual(e, entry)
		})
		if at[n] >= 0 {
			only[at[n]] = false
		}
	}
	i := 0
	rest := func(until int) {
		for ; i < until; i++ {
			if only[i] {
				merged = append(merged, have[i])
			}
		}
	}
	for n, entry := range patch {
		rest(max(i, at[n]))
		if over, ok := entry.(map[string]any); ok && at[n] >= 0 {
			there, _ := have[at[n]].(map[string]any)
			if entry, err = strategic(there, over, t); err != nil {
				return nil, fmt.Errorf("%v: %w", over[key], err)
			}
		}
		merged = append(merged, entry)
	}
	rest(len(have))
	return merged, nil
}

// fieldOf returns the type of a field, or of the entries of its list, by its JSON name. It also
// returns how the list is merged, according to the tags of Kubernetes' types.
func fieldOf(t reflect.Type, name string) (of reflect.Type, key string, merges bool) {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return nil, "", false
	case t.Kind() == reflect.Map:
		return t.Elem(), "", false
	case t.Kind() != reflect.Struct:
		return nil, "", false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		said, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if said == name {
			return f.Type, f.Tag.Get("patchMergeKey"), slices.Contains(strings.Split(f.Tag.Get("patchStrategy"), ","), "merge")
		}
		if said == "" && (f.Anonymous || options == "inline") {
			if of, key, merges := fieldOf(f.Type, name); of != nil {
				return of, key, merges
			}
		}
	}
	return nil, "", false
}
