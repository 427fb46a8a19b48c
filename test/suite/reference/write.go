package reference

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/test/suite/page"
)

// part is one generated part of a page.
type part struct {
	page, mark string
	body       func() (string, error)
}

// parts returns all parts except the command line, which needs built programs.
func parts(root string) []part {
	table := func(g group, heading string) func() (string, error) {
		return func() (string, error) { return g.table(root, heading) }
	}
	fields := func(of string) func() (string, error) {
		return func() (string, error) { return LaunchJob(filepath.Join(root, "images/chart/files/crd/crd.yaml"), of) }
	}
	checks := func(of string) func() (string, error) {
		return func() (string, error) { return Checks(of) }
	}
	return append([]part{
		{"docs/reference/settings.md", "settings", func() (string, error) { return Settings(), nil }},
		{"docs/reference/launchjob.md", "spec", fields("spec")},
		{"docs/reference/launchjob.md", "status", fields("status")},
		{"docs/reference/exit-codes.md", "codes", table(exitCodes(), "code")},
		{"docs/reference/reasons.md", "jobs", table(reasonsOfJobs(), "reason")},
		{"docs/reference/reasons.md", "workers", table(reasonsOfWorkers(), "reason")},
		{"docs/reference/labels.md", "labels", table(labels(), "label")},
		{"docs/reference/labels.md", "annotations", table(annotations(), "annotation")},
		{"docs/reference/labels.md", "gangs", table(gangs(), "label or annotation")},
		{"docs/reference/labels.md", "kueue-jobs", table(kueueJobs(), "label or annotation")},
		{"docs/reference/labels.md", "kueue-templates", table(topologies(), "annotation")},
		{"docs/reference/labels.md", "kueue-pods", table(kueuePods(), "label or annotation")},
		{"docs/reference/metrics.md", "metrics", Metrics},
		{"docs/reference/metrics.md", "run", LauncherMetrics},
		{"docs/reference/events.md", "events", Events},
		{"docs/guides/timeline.md", "phases", Phases},
		{"docs/guides/goodput.md", "classes", Classes},
		{"docs/reference/doctor.md", "cluster", checks(check.OfCluster)},
		{"docs/reference/doctor.md", "worker", checks(check.OfWorker)},
		{"docs/reference/doctor.md", "workers", checks(check.OfAll)},
		{"docs/reference/doctor.md", "pairs", checks(check.OfPair)},
	}, variablesParts(root)...)
}

// Write writes every generated part of the pages below root. bin has the built programs.
func Write(ctx context.Context, root, bin string) error {
	cli := part{"docs/reference/cli.md", "cli", func() (string, error) { return CLI(ctx, bin) }}
	for _, p := range append(parts(root), cli) {
		body, err := p.body()
		if err != nil {
			return fmt.Errorf("%s: %w", p.page, err)
		}
		if err := page.Put(filepath.Join(root, p.page), p.mark, body); err != nil {
			return err
		}
	}
	return nil
}
