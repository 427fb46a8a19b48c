package main

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// trim takes the descriptions of pod templates out of a CRD: `kubectl explain pod`
// has them, and with them the object is too large for kubectl apply. Those of our
// own fields stay.
func trim(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	var crd any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	forget(crd, false)
	if text, err = yaml.Marshal(crd); err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	_, err = fmt.Fprintf(out, "---\n%s", text)
	return err
}

// forget removes the texts of a schema's fields below each one named template.
func forget(schema any, all bool) {
	switch node := schema.(type) {
	case map[string]any:
		if _, text := node["description"].(string); all && text {
			delete(node, "description")
		}
		for key, value := range node {
			forget(value, all || key == "template")
		}
	case []any:
		for _, value := range node {
			forget(value, all)
		}
	}
}
