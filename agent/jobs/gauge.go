package jobs

import (
	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/exec/names"
)

// gauge collects metrics from a job's log.
type gauge struct {
	collector *metrics.Collector
	mixed     *metrics.Writer // the launcher's log, to which several ranks write
}

func newGauge(specs []metrics.Spec, tagged bool) *gauge {
	tags := metrics.TagsSure
	if tagged {
		tags = metrics.TagsAll
	}
	c := metrics.New(specs)
	return &gauge{c, c.Mixed(tags)}
}

// Tagged reports whether the job's launcher tells mpirun to put the rank before each line.
func Tagged(job *v1alpha1.LaunchJob) bool {
	if job.Spec.Launcher == nil {
		return false
	}
	for _, c := range job.Spec.Launcher.Template.Spec.Containers {
		for _, v := range c.Env {
			if v.Name == names.EnvOutput && v.Value == names.OutputTag {
				return true
			}
		}
	}
	return false
}

func (g *gauge) look(line Line) {
	if line.Rank >= 0 {
		g.collector.Line(line.Rank, line.Text)
		return
	}
	_, _ = g.mixed.Write(line.Text) // never fails
	_, _ = g.mixed.Write([]byte{'\n'})
}
