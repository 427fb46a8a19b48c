//go:build linux

package launch

import (
	"errors"
	"io"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/agent/outfile"
)

// Where Kubeflow Pipelines' components declare their metrics to be (its
// pipelines-metrics page), and what stands for it where that cannot be written.
const (
	podMetricsFile   = "/mlpipeline-metrics.json"
	localMetricsFile = "mlpipeline-metrics.json"
)

// meter collects what --metric names from the standard output of a run. A nil
// one, without --metric, does nothing.
type meter struct {
	seen  *metrics.Collector
	paths []string // where the file may go: the first that can be written
	named bool     // by the user, who counts on it
	tags  metrics.Tags
}

// newMeter makes the meter of a run; cfg is valid.
func newMeter(cfg Config, isPod bool) *meter {
	specs, err := metrics.Parse(cfg.Metrics)
	if err != nil || len(specs) == 0 {
		return nil
	}
	m := &meter{seen: metrics.New(specs), paths: []string{localMetricsFile}}
	if isPod {
		m.paths = []string{podMetricsFile, localMetricsFile}
	}
	if cfg.MetricsFile != "" {
		m.paths, m.named = []string{cfg.MetricsFile}, true
	}
	if cfg.Output == "tag" && IsMPIRun(cfg.Command[0]) {
		m.tags = metrics.TagsAll // each line has its rank: mpirun is asked for that
	}
	return m
}

// watch gives a writer for the standard output of a process with this rank (-1:
// it has none), which hands everything on to w as it is; nil: it is not shown.
// Who writes also closes it.
func (m *meter) watch(rank int, w io.WriteCloser) io.WriteCloser {
	if m == nil {
		return w
	}
	return watched{m.seen.Writer(rank), w}
}

// mixed gives a writer for the standard output of a command that runs here.
func (m *meter) mixed() io.WriteCloser {
	if m == nil {
		return nowhere{io.Discard}
	}
	return m.seen.Mixed(m.tags)
}

// nowhere is for bytes that nobody looks at.
type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

type watched struct {
	seen *metrics.Writer
	to   io.WriteCloser
}

func (w watched) Write(p []byte) (int, error) {
	_, _ = w.seen.Write(p) // it never fails
	if w.to == nil {
		return len(p), nil
	}
	return w.to.Write(p)
}

func (w watched) Close() error {
	err := w.seen.Close()
	if w.to != nil {
		err = errors.Join(err, w.to.Close())
	}
	return err
}

// report says what was seen and writes the file. The error is that of the place that the
// user named. A default place that cannot be written, as in a pod with a read-only root,
// is a warning: the numbers have been said.
func (m *meter) report(v *voice) error {
	if m == nil {
		return nil
	}
	series := m.seen.Series()
	for _, s := range series {
		if s.Count > 0 {
			v.Say("%s", s.Sentence())
		}
	}
	entries, notes := metrics.Entries(series)
	for _, note := range notes {
		v.Warn("%s", note)
	}
	if n := m.seen.Long(); n > 0 {
		v.Warn("%s of more than 64 KiB without an end of line not read for metrics", phrase.Count(n, "piece"))
	}
	text, err := metrics.Encode(entries)
	if err != nil {
		return err
	}
	for _, path := range m.paths {
		if err = outfile.Write(path, text, metrics.Ours); err == nil {
			v.Say("%s written to %s", phrase.Count(len(entries), "metric"), path)
			return nil
		}
	}
	if !m.named {
		v.Warn("metrics are in no file (--metrics-file names a place): %v", err)
		return nil
	}
	return failure.New(names.ExitOutput, "--metrics-file names another place", "write metrics: %w", err)
}
