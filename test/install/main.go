package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	return write(string(text), target)
}

// write lays install.yaml and the chart into dir.
func write(text, dir string) error {
	crd, controller, err := split(text)
	if err != nil {
		return err
	}
	templates := filepath.Join(dir, "chart", "templates")
	if err := os.MkdirAll(templates, 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for path, content := range map[string]string{
		filepath.Join(dir, "install.yaml"):          head + text,
		filepath.Join(templates, "crd.yaml"):        "{{- if .Values.crd }}\n" + keep(crd) + "{{- end }}\n",
		filepath.Join(templates, "controller.yaml"): chart(controller),
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// split parts the CRD from the rest, without the namespace, which Helm makes.
func split(text string) (crd string, rest []string, err error) {
	for _, doc := range strings.Split(text, "\n---\n") {
		doc = strings.TrimSuffix(doc, "\n") + "\n"
		switch {
		case strings.Contains(doc, "\nkind: CustomResourceDefinition\n"):
			crd = doc
		case strings.Contains(doc, "\nkind: Namespace\n"):
		default:
			rest = append(rest, doc)
		}
	}
	if crd == "" || len(rest) != 6 {
		return "", nil, fmt.Errorf("split the manifests: a CRD and 6 other objects are expected, there are %d: is images/deploy complete", len(rest))
	}
	return crd, rest, nil
}

// keep has Helm leave the CRD, and with it the jobs, where it is uninstalled.
func keep(crd string) string {
	return strings.Replace(crd, "  annotations:\n", "  annotations:\n    helm.sh/resource-policy: keep\n", 1)
}

// chart puts Helm's words where a chart can be told something.
func chart(docs []string) string {
	var out []string
	for _, doc := range docs {
		doc = strings.NewReplacer(
			"namespace: muster-system", "namespace: {{ .Release.Namespace }}",
			"ghcr.io/musterhq/muster-controller:dev", `{{ include "muster.image" (dict "root" . "name" "controller") }}`,
			"ghcr.io/musterhq/muster-agent:dev", `{{ include "muster.image" (dict "root" . "name" "agent") }}`,
			"replicas: 1", "replicas: {{ .Values.replicas }}",
			`value: ""`, `value: {{ join "," .Values.namespaces | quote }}`,
		).Replace(doc)
		if strings.Contains(doc, "kind: ClusterRole") {
			doc = either(doc)
		}
		out = append(out, doc)
	}
	return head + strings.Join(out, "---\n")
}

// either gives a cluster's right, or the same in each namespace.
func either(doc string) string {
	in := strings.ReplaceAll(doc, "kind: ClusterRole", "kind: Role")
	in = strings.Replace(in, "\n  name: muster-controller\n", "\n  name: muster-controller\n  namespace: {{ $namespace }}\n", 1)
	in = strings.ReplaceAll(in, "{{ .Release.Namespace }}", "{{ $.Release.Namespace }}")
	return "{{- if .Values.namespaces }}\n{{- range $namespace := .Values.namespaces }}\n---\n" + in + "{{- end }}\n{{- else }}\n---\n" + doc + "{{- end }}\n"
}
