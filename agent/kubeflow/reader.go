package kubeflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reader is one field of an object. It records every value that is read through it as taken, so
// that all other fields can be named at the end.
type reader struct {
	value any
	path  string
	book  *book
}

// book records which fields of an object were taken, and the findings about it.
type book struct {
	taken    map[string]bool
	findings []Finding
}

// has reports whether the field exists. As in Kubernetes, null counts as missing.
func (r reader) has() bool { return r.value != nil }

// at returns a field below this one. A missing field has no value.
func (r reader) at(key string) reader {
	m, _ := r.value.(map[string]any)
	return reader{m[key], join(r.path, key), r.book}
}

// like returns the field whose name equals key in any case. Older operators read Ps as PS, and
// Arena writes BackoffLimit.
func (r reader) like(key string) reader {
	m, _ := r.value.(map[string]any)
	if _, ok := m[key]; !ok {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if strings.EqualFold(k, key) {
				return r.at(k)
			}
		}
	}
	return r.at(key)
}

// keys lists the names of the fields below, sorted.
func (r reader) keys() []string {
	m, _ := r.value.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// list returns the entries of a list.
func (r reader) list() (all []reader) {
	l, ok := r.value.([]any)
	if !ok && r.has() {
		r.fatal("write it as a list", "want a list, not %s", short(r.value))
	}
	for i, v := range l {
		all = append(all, reader{v, fmt.Sprintf("%s[%d]", r.path, i), r.book})
	}
	return all
}

// take returns the value, and records it and everything below it as taken.
func (r reader) take() any {
	r.book.taken[r.path] = true
	return r.value
}

// text, number and flag return a value of that type. Another type is an error.
func (r reader) text() string {
	switch v := r.take().(type) {
	case nil:
		return ""
	case string:
		return v
	}
	r.fatal("put it in quotes", "want a string, not %s", short(r.value))
	return ""
}

func (r reader) number() *int64 {
	var n int64
	switch v := r.take().(type) {
	case nil:
		return nil
	case int64:
		n = v
	case int:
		n = int64(v)
	case float64:
		if n = int64(v); float64(n) != v {
			r.fatal("set a whole number", "want a number, not %v", v)
			return nil
		}
	default:
		r.fatal("set a number", "want a number, not %s", short(v))
		return nil
	}
	return &n
}

// count returns a number that fits a count of pods, ranks or seconds.
func (r reader) count() *int32 {
	n := r.number()
	if n == nil {
		return nil
	}
	if *n < 0 || *n > 1<<31-1 {
		r.fatal("set a number from 0", "%d is out of range", *n)
		return nil
	}
	return new(int32(*n))
}

// mostPods is the largest number of pods of a LaunchJob's role.
const mostPods = 10000

// pods returns a number of pods, or otherwise if none is given.
func (r reader) pods(otherwise int32) int32 {
	switch n := r.count(); {
	case n == nil:
		return otherwise
	case *n > mostPods:
		r.fatal("run fewer", "a LaunchJob has at most %d pods of a role", mostPods)
		return otherwise
	default:
		return *n
	}
}

func (r reader) flag() bool {
	switch v := r.take().(type) {
	case nil:
		return false
	case bool:
		return v
	}
	r.fatal("write true or false", "want true or false, not %s", short(r.value))
	return false
}

// texts returns a map of strings, such as labels.
func (r reader) texts() map[string]string {
	if !r.has() {
		return nil
	}
	all := map[string]string{}
	for _, k := range r.keys() {
		all[k] = r.at(k).text()
	}
	if _, ok := r.value.(map[string]any); !ok {
		r.fatal("write it as NAME: VALUE", "want names with values, not %s", short(r.take()))
	}
	return all
}

// into decodes the value and everything below it, and reports fields that the type does not have.
func (r reader) into(to any) bool {
	raw, err := json.Marshal(r.take())
	if err != nil {
		r.fatal("", "cannot be read: %v", err)
		return false
	}
	unknown, err := strictly(raw, to)
	for _, field := range unknown {
		reader{true, r.path + "." + field, r.book}.warn("", "Kubernetes has no such field: not carried")
	}
	if err != nil {
		r.fatal("kubectl explain shows the valid fields", "%v", err)
	}
	return err == nil
}

// warn, note and fatal add a finding about the field, which counts as taken. After fatal, the
// fields below it do not.
func (r reader) warn(way, format string, args ...any) { r.say(Finding{Way: way}, format, args) }
func (r reader) note(format string, args ...any)      { r.say(Finding{Note: true}, format, args) }
func (r reader) fatal(way, format string, args ...any) {
	r.say(Finding{Way: way, Fatal: true}, format, args)
}

func (r reader) say(f Finding, format string, args []any) {
	f.Field, f.Text = r.path, fmt.Sprintf(format, args...)
	if _, fields := r.value.(map[string]any); !fields || !f.Fatal {
		r.take()
	}
	if !slices.Contains(r.book.findings, f) {
		r.book.findings = append(r.book.findings, f)
	}
}

// rest reports what was not taken: the topmost field of which nothing was taken.
func (b *book) rest(r reader) {
	for _, path := range b.left(r) {
		reader{true, path, b}.warn("", "not carried")
	}
}

// left lists the fields below r of which nothing was taken.
func (b *book) left(r reader) (paths []string) {
	if b.taken[r.path] {
		return nil
	}
	var below []reader
	switch r.value.(type) {
	case nil:
		return nil
	case map[string]any:
		for _, k := range r.keys() {
			below = append(below, r.at(k))
		}
	case []any:
		below = r.list()
	default:
		return []string{r.path}
	}
	whole := r.path != ""
	for _, f := range below {
		left := b.left(f)
		paths = append(paths, left...)
		whole = whole && (len(left) == 1 && left[0] == f.path)
	}
	if whole && len(below) > 1 {
		return []string{r.path}
	}
	return paths
}

// join writes a path like kubectl explain. A name that is not a plain word is in brackets.
func join(path, key string) string {
	strange := key == "" || strings.ContainsFunc(key, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
	switch {
	case strange:
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// short returns a value in a form that fits a sentence.
func short(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "this"
	}
	if len(raw) > 40 {
		return string(raw[:37]) + "..."
	}
	return string(raw)
}

// mention adds a finding about a field that exists: a note if the field only states what is true
// anyway, else a warning.
func (r reader) mention(same bool, text string) {
	switch {
	case !r.has():
	case same:
		r.note("%s", text)
	default:
		r.warn("", "%s", text)
	}
}
