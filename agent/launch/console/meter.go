//go:build linux

package console

import (
	"errors"
	"io"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/exec/names"
)

// Where Kubeflow Pipelines' components declare their metrics to be (its
// pipelines-metrics page), and what stands for it where that cannot be written.
const (
	podMetricsFile   = "/mlpipeline-metrics.json"
	localMetricsFile = "mlpipeline-metrics.json"
)

// Meter collects what --metric names from the standard output of a run. A nil
// one, without --metric, does nothing.
type Meter struct {
	seen  *metrics.Collector
	paths []string // where the file may go: the first that can be written
	named bool     // by the user, who counts on it
	tags  metrics.Tags
}

// NewMeter makes the meter of a run that collects what is wanted (--metric, valid words) and
// writes it to file; "": to a default place, which depends on whether this is a pod. tags are
// the marks of ranks in the output of a command that runs here. Without words it is nil.
func NewMeter(wanted []string, file string, tags metrics.Tags, isPod bool) *Meter {
	specs, err := metrics.Parse(wanted)
	if err != nil || len(specs) == 0 {
		return nil
	}
	m := &Meter{seen: metrics.New(specs), paths: []string{localMetricsFile}, tags: tags}
	if isPod {
		m.paths = []string{podMetricsFile, localMetricsFile}
	}
	if file != "" {
		m.paths, m.named = []string{file}, true
	}
	return m
}

// Watch gives a writer for the standard output of a process with this rank (-1:
// it has none), which hands everything on to w as it is; nil: it is not shown.
// Who writes also closes it.
func (m *Meter) Watch(rank int, w io.WriteCloser) io.WriteCloser {
	if m == nil {
		return w
	}
	return watched{m.seen.Writer(rank), w}
}

// Mixed gives a writer for the standard output of a command that runs here.
func (m *Meter) Mixed() io.WriteCloser {
	if m == nil {
		return Nowhere()
	}
	return m.seen.Mixed(m.tags)
}

// Nowhere takes bytes that nobody looks at.
func Nowhere() io.WriteCloser { return discarded{io.Discard} }

type discarded struct{ io.Writer }

// Close implements io.Closer.
func (discarded) Close() error { return nil }

type watched struct {
	seen *metrics.Writer
	to   io.WriteCloser
}

// Write implements io.Writer.
func (w watched) Write(p []byte) (int, error) {
	_, _ = w.seen.Write(p) // it never fails
	if w.to == nil {
		return len(p), nil
	}
	return w.to.Write(p)
}

// Close implements io.Closer.
func (w watched) Close() error {
	err := w.seen.Close()
	if w.to != nil {
		err = errors.Join(err, w.to.Close())
	}
	return err
}

// Report says what was seen and writes the file. The error is that of the place that the
// user named. A default place that cannot be written, as in a pod with a read-only root,
// is a warning: the numbers have been said.
func (m *Meter) Report(v *Voice) error {
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
