package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	target = "images"
	head   = "# Made by `make generate` out of images/deploy.\n"
)

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "install: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "crd" {
		return trim(os.Stdin, os.Stdout)
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("read the manifests: %w", err)
	}
	rights, err := os.ReadFile(filepath.Join(target, "serve-kubeflow", "rights.yaml"))
	if err != nil {
		return fmt.Errorf("read the rights: %w", err)
	}
	return write(string(text), string(rights), target)
}

// write writes install.yaml, the list of images and the chart's templates to dir.
func write(text, rights, dir string) error {
	cluster, docs, err := split(text)
	if err != nil {
		return err
	}
	controller, err := chart(docs)
	if err != nil {
		return err
	}
	serving, err := kubeflow(rights)
	if err != nil {
		return err
	}
	templates := filepath.Join(dir, "chart", "templates")
	if err := os.MkdirAll(templates, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for path, content := range map[string]string{
		filepath.Join(dir, "install.yaml"):          head + text,
		filepath.Join(templates, "cluster.yaml"):    "{{- if not .Values.namespaces }}\n" + head + strings.Join(cluster, "---\n") + "{{- end }}\n",
		filepath.Join(templates, "controller.yaml"): controller,
		filepath.Join(templates, "kubeflow.yaml"):   serving,
		filepath.Join(dir, "images.txt"):            images(docs),
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// split separates the cluster-wide objects from the rest. It drops the CRD, which the chart has in a file of its own,
// and the namespace, which Helm creates.
func split(text string) (cluster, rest []string, err error) {
	for _, doc := range strings.Split(text, "\n---\n") {
		doc = strings.TrimSuffix(doc, "\n") + "\n"
		switch {
		case strings.Contains(doc, "\nkind: CustomResourceDefinition\n"), strings.Contains(doc, "\nkind: Namespace\n"):
		case strings.Contains(doc, "\nkind: ValidatingAdmissionPolicy"), strings.Contains(doc, "rbac.authorization.k8s.io/aggregate-to-"):
			cluster = append(cluster, doc)
		default:
			rest = append(rest, doc)
		}
	}
	if len(cluster) != 4 || len(rest) != 9 {
		return nil, nil, fmt.Errorf("split the manifests: expected 4 cluster-wide objects and 9 others, found %d and %d: check images/deploy", len(cluster), len(rest))
	}
	return cluster, rest, nil
}

// images lists the images that a private registry must have.
func images(docs []string) string {
	var list []string
	for _, found := range regexp.MustCompile(`(?m)^\s+image: (\S+)$`).FindAllStringSubmatch(strings.Join(docs, ""), -1) {
		list = append(list, found[1]+"\n")
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "")
}

// trim removes the descriptions of pod templates from a CRD, because with them the object is too large for kubectl
// apply. `kubectl explain pod` has these descriptions. Those of our own fields
// are kept.
func trim(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	var crd any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	dropDescriptions(crd, false)
	if text, err = yaml.Marshal(crd); err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	_, err = fmt.Fprintf(out, "---\n%s", text)
	return err
}

// dropDescriptions removes the descriptions of a schema's fields below each field named template.
func dropDescriptions(schema any, all bool) {
	switch node := schema.(type) {
	case map[string]any:
		if _, text := node["description"].(string); all && text {
			delete(node, "description")
		}
		for key, value := range node {
			dropDescriptions(value, all || key == "template")
		}
	case []any:
		for _, value := range node {
			dropDescriptions(value, all)
		}
	}
}
