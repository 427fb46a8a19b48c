package reference

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// schema has the parts of a CRD field's schema that this page needs.
type schema struct {
	Description string
	Type        string
	Format      string
	Default     any
	Enum        []any
	Minimum     *float64
	Maximum     *float64
	MinLength   *int
	MaxLength   *int
	MinItems    *int
	MaxItems    *int
	Pattern     string
	Required    []string
	Properties  map[string]*schema
	Items       *schema
	Extra       *schema                    `json:"additionalProperties"`
	IntOrString bool                       `json:"x-kubernetes-int-or-string"`
	Rules       []struct{ Message string } `json:"x-kubernetes-validations"`
}

// LaunchJob lists the fields of part (spec or status) of the CRD at path: a row for each field, and below them the
// rules between fields.
func LaunchJob(path, part string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the CRD: %w", err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema *schema }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part] == nil {
		return "", fmt.Errorf("%s: no %s of one version", path, part)
	}
	p := fields{}
	p.walk(part, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part])
	if len(p.bare) > 0 {
		return "", fmt.Errorf("%s: fields without a description: %s", path, strings.Join(p.bare, ", "))
	}
	return "| field | type | default | limits | description |\n|---|---|---|---|---|\n" + p.rows.String() +
		"\n" + p.rules.String(), nil
}

// fields collects the rows of the table, and the rules for the text below it.
type fields struct {
	rows, rules strings.Builder
	bare        []string // fields without a description
}

// walk adds the fields below path, sorted by name.
func (p *fields) walk(path string, s *schema) {
	for _, rule := range s.Rules {
		if line := fmt.Sprintf("* `%s`: %s\n", path, rule.Message); !strings.Contains(p.rules.String(), line) {
			p.rules.WriteString(line)
		}
	}
	if s.Items != nil {
		p.walk(path+"[]", s.Items)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field, at := s.Properties[name], path+"."+name
		required, below := slices.Contains(s.Required, name), name != "template"
		description := strings.Join(strings.Fields(field.Description), " ")
		if !below { // Kubernetes documents the fields below, and the CRD has no descriptions of them
			description = "The pods, as in a Job: metadata and spec."
		}
		if description == "" {
			p.bare = append(p.bare, at)
		}
		fmt.Fprintf(&p.rows, "| `%s` | %s | %s | %s | %s |\n", at, typeOf(field), defaultOf(field, required), cell(strings.Join(limits(field), "; ")), cell(description))
		if below {
			p.walk(at, field)
		}
	}
}

func defaultOf(s *schema, required bool) string {
	switch {
	case s.Default != nil:
		return code(fmt.Sprint(s.Default))
	case required:
		return "required"
	}
	return ""
}

func typeOf(s *schema) string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Type == "array":
		return "list of " + typeOf(s.Items)
	case s.Extra != nil:
		return "map of " + typeOf(s.Extra)
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// limits describes the allowed values of the field.
func limits(s *schema) (all []string) {
	if len(s.Enum) > 0 {
		var words []string
		for _, word := range s.Enum {
			words = append(words, code(fmt.Sprint(word)))
		}
		all = append(all, strings.Join(words, ", "))
	}
	for _, l := range []struct {
		text  string
		value *float64
	}{{"at least %v", s.Minimum}, {"at most %v", s.Maximum}} {
		if l.value != nil {
			all = append(all, fmt.Sprintf(l.text, *l.value))
		}
	}
	for _, l := range []struct {
		text  string
		value *int
	}{{"at least %d characters", s.MinLength}, {"at most %d characters", s.MaxLength}, {"at least %d entries", s.MinItems}, {"at most %d entries", s.MaxItems}} {
		if l.value != nil {
			all = append(all, fmt.Sprintf(l.text, *l.value))
		}
	}
	if s.Pattern != "" {
		all = append(all, "matches "+code(s.Pattern))
	}
	return all
}
