package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/census"
	"github.com/musterhq/muster/agent/exporter/metrics"
	"github.com/musterhq/muster/agent/goodput"
)

// Metrics lists the series that the controller registers.
func Metrics() (string, error) {
	registry := prometheus.NewPedanticRegistry()
	series, err := census.NewChanges(registry)
	if err != nil {
		return "", fmt.Errorf("register the controller's metrics: %w", err)
	}
	example := v1alpha1.LaunchJobStatus{} // a counter without labels of its own has no series before a job ends
	for _, a := range goodput.Table() {
		example.Spent = append(example.Spent, v1alpha1.TimeSpent{Class: string(a.Class), Seconds: 1})
	}
	series.Count("", v1alpha1.LaunchJobStatus{}, example, nil)
	families, err := registry.Gather()
	if err != nil {
		return "", fmt.Errorf("gather the controller's metrics: %w", err)
	}
	var b strings.Builder
	b.WriteString("| name | type | labels | help |\n|---|---|---|---|\n")
	for _, f := range families {
		if f.GetHelp() == "" {
			return "", fmt.Errorf("metric %s has no help", f.GetName())
		}
		var labels []string
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels = append(labels, code(strings.TrimSuffix(l.GetName()+"="+l.GetValue(), "=")))
			}
		}
		slices.Sort(labels)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(slices.Compact(labels), ", "), cell(f.GetHelp()))
	}
	for _, a := range census.Table() {
		labels := code(a.Label)
		if a.Label == "phase" {
			labels = code("phase=" + strings.Join(census.Phases(), "|"))
		}
		fmt.Fprintf(&b, "| `%s` | gauge | %s | %s |\n", a.Name, labels, cell(a.Help))
	}
	return b.String(), nil
}

// LauncherMetrics lists the metrics of a run, with the largest number of series of each.
func LauncherMetrics() (string, error) {
	var b strings.Builder
	b.WriteString("| name | type | labels | series | help |\n|---|---|---|---|---|\n")
	for _, a := range metrics.Table() {
		if a.Help == "" {
			return "", fmt.Errorf("metric %s has no help", a.Name)
		}
		var labels []string
		for _, value := range a.Values {
			labels = append(labels, code(a.Labels[0]+"="+value))
		}
		if a.Values == nil {
			for _, name := range a.Labels {
				labels = append(labels, code(name))
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d | %s |\n", a.Name, a.Type, strings.Join(labels, ", "), a.Most, cell(a.Help))
	}
	return b.String(), nil
}
