package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestChart checks that the chart and the other files are up to date with install.yaml.
func TestChart(t *testing.T) {
	text, err := os.ReadFile("../../../images/install.yaml")
	require.NoError(t, err)
	rights, err := os.ReadFile("../../../images/serve-kubeflow/rights.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, write(strings.TrimPrefix(string(text), head), string(rights), dir))
	for _, name := range []string{"install.yaml", "images.txt", "chart/templates/cluster.yaml", "chart/templates/controller.yaml", "chart/templates/kubeflow.yaml"} {
		want, err := os.ReadFile(filepath.Join("../../../images", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
	crd, err := os.ReadFile("../../../images/chart/files/crd/crd.yaml")
	require.NoError(t, err)
	require.Contains(t, string(text), strings.TrimPrefix(string(crd), "---\n"))
	require.Contains(t, string(crd), "\n    helm.sh/resource-policy: keep\n", "helm uninstall would delete all jobs")
	chart, err := os.ReadFile(filepath.Join(dir, "chart/templates/controller.yaml"))
	require.NoError(t, err)
	require.NotContains(t, string(chart), "ghcr.io", "an image does not come from the values")
	require.NotContains(t, string(chart), "muster-system", "the namespace must be the release's")
	require.Equal(t, 2, strings.Count(string(chart), "{{- range $namespace := .Values.namespaces }}"), "a Role and its binding")
	require.Error(t, write("kind: Pod\n", string(rights), dir))
	require.Error(t, write(strings.TrimPrefix(string(text), head), "kind: Role\n", dir))
	err = write(strings.ReplaceAll(string(text), "memory: 256Mi", "memory: 512Mi"), string(rights), dir)
	require.ErrorContains(t, err, "make the chart: images/deploy has no ", "a value would have no effect")
}

// TestValues checks that the chart's defaults equal the values in images/deploy, and that the
// schema has each value.
func TestValues(t *testing.T) {
	read := func(path string, into any) {
		text, err := os.ReadFile(filepath.Join("../../../images", path))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into))
	}
	var values map[string]any
	read("chart/values.yaml", &values)
	var schema struct{ Properties map[string]any }
	read("chart/values.schema.json", &schema)
	delete(schema.Properties, "global") // set by charts that include this one
	require.ElementsMatch(t, slices.Collect(maps.Keys(values)), slices.Collect(maps.Keys(schema.Properties)))

	text, err := os.ReadFile("../../../images/deploy/controller.yaml")
	require.NoError(t, err)
	_, last, found := strings.Cut(string(text), "kind: Deployment\n")
	require.True(t, found)
	var deployment appsv1.Deployment
	require.NoError(t, yaml.Unmarshal([]byte("kind: Deployment\n"+last), &deployment))
	want, err := yaml.Marshal(deployment.Spec.Template.Spec.Containers[0].Resources)
	require.NoError(t, err)
	got, err := yaml.Marshal(values["resources"])
	require.NoError(t, err)
	require.YAMLEq(t, string(want), string(got))
	image := values["image"].(map[string]any)
	require.Equal(t, deployment.Spec.Template.Spec.Containers[0].Image, image["registry"].(string)+"/muster-controller:"+image["tag"].(string))
}

// TestUsersMay checks that users with admin, edit or view in a namespace have the same rights for LaunchJobs, and that
// no user may write a status.
func TestUsersMay(t *testing.T) {
	text, err := os.ReadFile("../../../images/install.yaml")
	require.NoError(t, err)
	may := map[string][]string{}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if yaml.Unmarshal([]byte(doc), &role) != nil || role.Kind != "ClusterRole" {
			continue
		}
		for label, value := range role.Labels {
			to, aggregated := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-")
			for _, rule := range role.Rules {
				if !aggregated || value != "true" {
					continue
				}
				require.Equal(t, []string{"muster.dev"}, rule.APIGroups)
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						may[to] = append(may[to], verb+" "+resource)
					}
				}
			}
		}
	}
	write := []string{"create launchjobs", "delete launchjobs", "deletecollection launchjobs", "patch launchjobs", "update launchjobs", "patch launchjobs/scale", "update launchjobs/scale"}
	require.ElementsMatch(t, write, may["edit"])
	require.ElementsMatch(t, write, may["admin"])
	require.Contains(t, may["view"], "get launchjobs")
	for _, right := range may["view"] {
		require.Contains(t, []string{"get", "list", "watch"}, strings.Fields(right)[0])
	}
}

// TestTheCRDExplainsItself checks that kubectl explain has a description of each field of our own, and of each phase.
func TestTheCRDExplainsItself(t *testing.T) {
	text, err := os.ReadFile("../../../images/chart/files/crd/crd.yaml")
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(text, &crd))
	seen := 0
	var walk func(path string, schema apiextensionsv1.JSONSchemaProps)
	walk = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		for name, field := range schema.Properties {
			at := path + "." + name
			if at == ".metadata" {
				continue // every object has it
			}
			if name == "template" {
				continue // kubectl explain pod has these
			}
			seen++
			require.NotEmpty(t, field.Description, at)
			walk(at, field)
			if field.Items != nil {
				walk(at, *field.Items.Schema)
			}
		}
	}
	schema := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	walk("", schema)
	require.Greater(t, seen, 60)
	phase := schema.Properties["status"].Properties["phase"].Description
	for _, p := range []string{v1alpha1.PhaseSuspended, v1alpha1.PhaseWaiting, v1alpha1.PhaseRunning, v1alpha1.PhaseRestarting, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed} {
		require.Contains(t, phase, p)
	}
	conditions := schema.Properties["status"].Properties["conditions"].Description
	for _, c := range []string{v1alpha1.Suspended, v1alpha1.WorkersReady, v1alpha1.Launched, v1alpha1.Restarting, v1alpha1.Succeeded, v1alpha1.Failed} {
		require.Contains(t, conditions, c)
	}
}

func TestTrimKeepsOurOwnDescriptions(t *testing.T) {
	var out strings.Builder
	require.NoError(t, trim(strings.NewReader(`
spec: {description: a, template: {description: b, properties: {description: {description: c}, x: {items: [{description: d}]}}}, list: [{description: e}]}
`), &out))
	require.YAMLEq(t, "spec: {description: a, template: {properties: {description: {}, x: {items: [{}]}}}, list: [{description: e}]}", out.String())
	require.ErrorContains(t, trim(strings.NewReader("a: [\n"), &out), "read the CRD: ")
}
