package metrics

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is how Kubeflow Pipelines shows a metric.
type Format string

// Formats of Kubeflow Pipelines' run metrics (its backend/api/run.proto).
const (
	Raw        Format = "RAW"
	Percentage Format = "PERCENTAGE"
)

// Spec is a metric to look for.
type Spec struct {
	Name   string // as programs print it, such as images/sec
	Format Format
}

// maxName is the length in bytes of the longest name, because every line is searched for it.
const maxName = 256

// Parse reads words of the form NAME[:RAW|PERCENTAGE], in any case. RAW is the default. A repeated
// word counts once. Errors name the word.
func Parse(words []string) ([]Spec, error) {
	var specs []Spec
	for _, word := range words {
		spec, err := parse(word)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", word, err)
		}
		at := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == spec.Name })
		switch {
		case at < 0:
			specs = append(specs, spec)
		case specs[at].Format != spec.Format:
			return nil, fmt.Errorf("metric %q is requested both as %s and as %s", spec.Name, specs[at].Format, spec.Format)
		}
	}
	return specs, nil
}

func parse(word string) (Spec, error) {
	name, format, given := strings.Cut(word, ":")
	spec := Spec{Name: strings.TrimSpace(name), Format: Raw}
	if given {
		spec.Format = Format(strings.ToUpper(strings.TrimSpace(format)))
		if spec.Format != Raw && spec.Format != Percentage {
			return Spec{}, fmt.Errorf("want RAW or PERCENTAGE after the colon")
		}
	}
	switch {
	case spec.Name == "":
		return Spec{}, fmt.Errorf("missing name before the colon")
	case len(spec.Name) > maxName:
		return Spec{}, fmt.Errorf("name is too long: %d bytes, at most %d", len(spec.Name), maxName)
	case strings.Contains(spec.Name, "="):
		return Spec{}, fmt.Errorf("a name cannot contain =")
	case !utf8.ValidString(spec.Name) || strings.ContainsFunc(spec.Name, unicode.IsControl):
		return Spec{}, fmt.Errorf("a name cannot contain control characters")
	}
	return spec, nil
}
