package main

import (
	"maps"
	"slices"
	"strings"
)

// look finds what stands at a path, nil if nothing does.
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

// set gives a copy of value that has v at the path, with what is missing on the way.
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

// keys are those of the map at a path in the least object.
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
