package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// edit replaces a text of the manifests by a template of the chart.
type edit struct{ from, to string }

// edits returns the edits for all values of the chart.
func edits() []edit {
	image := func(name string) string { return `{{ include "muster.image" (dict "root" . "name" "` + name + `") }}` }
	return []edit{
		{"        - --leader-elect\n", "        - --leader-elect\n" + "{{- with .Values.maxWorkers }}\n        - --max-workers={{ int . }}\n{{- end }}\n" +
			"{{- if not .Values.metrics }}\n        - --metrics-addr=0\n{{- end }}\n" + served("        - --serve-kubeflow={{ .Values.serveKubeflow }}\n")},
		{"        - --progress-addr=:8443\n", ifProgress + "        - --progress-addr=:8443\n{{- end }}\n"},
		{"namespace: muster-system", "namespace: {{ .Release.Namespace }}"},
		{"          value: ghcr.io/musterhq/muster-agent:dev\n", "          value: ghcr.io/musterhq/muster-agent:dev\n" +
			"        {{- with .Values.env }}\n        {{- toYaml . | nindent 8 }}\n        {{- end }}\n"},
		{"ghcr.io/musterhq/muster-controller:dev", image("controller")},
		{"ghcr.io/musterhq/muster-agent:dev", image("agent")},
		{"        ports:\n        - containerPort: 8080\n          name: metrics\n        - containerPort: 8443\n          name: progress\n",
			"        ports:\n{{- if .Values.metrics }}\n        - containerPort: 8080\n          name: metrics\n{{- end }}\n" +
				ifProgress + "        - containerPort: 8443\n          name: progress\n{{- end }}\n"},
		{"  replicas: 2\n", "  replicas: {{ .Values.replicas }}\n"},
		{`value: ""`, `value: {{ join "," .Values.namespaces | quote }}`},
		{`        resources:
          limits:
            memory: 256Mi
          requests:
            cpu: 50m
            memory: 64Mi
`, "        resources: {{- toYaml .Values.resources | nindent 10 }}\n"},
		{`      tolerations:
      - effect: NoExecute
        key: node.kubernetes.io/unreachable
        operator: Exists
        tolerationSeconds: 10
      - effect: NoExecute
        key: node.kubernetes.io/not-ready
        operator: Exists
        tolerationSeconds: 10
`, "      tolerations: {{- toYaml .Values.tolerations | nindent 8 }}\n"},
		{"      serviceAccountName: muster-controller\n", "      serviceAccountName: muster-controller\n" +
			optional("imagePullSecrets") + optional("nodeSelector") + optional("affinity") + optional("priorityClassName")},
	}
}

// ifProgress begins what only the server for progress reports needs. The right to review tokens exists only for the
// whole cluster.
const ifProgress = "{{- if and .Values.progress (not .Values.namespaces) }}\n"

// isProgress reports whether only the server for progress reports needs an object.
func isProgress(doc string) bool {
	return strings.Contains(doc, "muster-controller-reviews") || strings.Contains(doc, "kind: Service\n")
}

// optional returns a field of the pod that is present only if the value is set.
func optional(field string) string {
	return fmt.Sprintf("      {{- with .Values.%s }}\n      %s: {{- toYaml . | nindent 8 }}\n      {{- end }}\n", field, field)
}

// chart turns the manifests into Helm templates.
func chart(docs []string) (string, error) {
	docs = slices.Clone(docs)
	for _, e := range edits() {
		found := false
		for i, doc := range docs {
			found = found || strings.Contains(doc, e.from)
			docs[i] = strings.ReplaceAll(doc, e.from, e.to)
		}
		if !found {
			return "", fmt.Errorf("make the chart: images/deploy has no %q: update test/lab/install/chart.go", e.from)
		}
	}
	for i, doc := range docs {
		switch {
		case isProgress(doc):
			docs[i] = ifProgress + "---\n" + doc + "{{- end }}\n"
		case strings.Contains(doc, "kind: ClusterRole"):
			docs[i] = either(doc)
		}
	}
	return head + strings.Join(docs, "---\n"), nil
}

// served wraps text so that it is present only if the controller serves Kubeflow's kinds. In a values file, an unquoted
// off is the boolean false.
func served(text string) string {
	return `{{- if not (has (toString .Values.serveKubeflow) (list "off" "false")) }}` + "\n" + text + "{{- end }}\n"
}

// kubeflow turns images/serve-kubeflow into templates: two rights that can be limited to
// namespaces, and two that exist only for the whole cluster.
func kubeflow(text string) (string, error) {
	docs := strings.Split(text, "\n---\n")
	if len(docs) != 4 {
		return "", fmt.Errorf("make the chart: images/serve-kubeflow has %d objects, not 4: update test/lab/install/chart.go", len(docs))
	}
	var all strings.Builder
	for i, doc := range docs {
		doc = strings.ReplaceAll(strings.TrimSuffix(doc, "\n")+"\n", "namespace: muster-system", "namespace: {{ .Release.Namespace }}")
		if i < 2 {
			all.WriteString(either(doc))
		} else {
			all.WriteString("{{- if not .Values.namespaces }}\n---\n" + doc + "{{- end }}\n")
		}
	}
	return served("# Made by `make generate` out of images/serve-kubeflow.\n" + all.String()), nil
}

// metadataName matches the line of an object's name, which is the first such line.
var metadataName = regexp.MustCompile(`\n  name: \S+\n`)

// either returns a right for the whole cluster, or the same right in each namespace if there are values for namespaces.
func either(doc string) string {
	in := strings.ReplaceAll(doc, "kind: ClusterRole", "kind: Role")
	if name := metadataName.FindString(in); name != "" {
		in = strings.Replace(in, name, name+"  namespace: {{ $namespace }}\n", 1)
	}
	in = strings.ReplaceAll(in, "{{ .Release.Namespace }}", "{{ $.Release.Namespace }}")
	return "{{- if .Values.namespaces }}\n{{- range $namespace := .Values.namespaces }}\n---\n" + in + "{{- end }}\n{{- else }}\n---\n" + doc + "{{- end }}\n"
}
