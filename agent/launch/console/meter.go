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

// podMetricsFile is where components of Kubeflow Pipelines declare their metrics (its
// pipelines-metrics page). localMetricsFile is the fallback if that file cannot be written.
const (
	podMetricsFile   = "/mlpipeline-metrics.json"
	localMetricsFile = "mlpipeline-metrics.json"
)

// Meter collects the values for --metric from the standard output of a run. A nil Meter, without
// --metric, does nothing.
type Meter struct {
	seen  *metrics.Collector
	paths []string // candidates for the file: the first that can be written is used
	named bool     // the user named the file, so a failure is an error
	tags  metrics.Tags
}

// NewMeter returns the meter of a run. wanted are valid values of --metric; without any, NewMeter
// returns nil. file is where to write the metrics; "" means a default path, which depends on isPod.
// tags are the rank tags in the output of a command in the launcher.
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

// Watch returns a writer for the standard output of a process with this rank; -1 means no rank. It
// passes everything on to w unchanged. If w is nil, the output is not shown. The caller closes the
// writer.
func (m *Meter) Watch(rank int, w io.WriteCloser) io.WriteCloser {
	if m == nil {
		return w
	}
	return watched{m.seen.Writer(rank), w}
}

// Mixed returns a writer for the standard output of a command in the launcher.
func (m *Meter) Mixed() io.WriteCloser {
	if m == nil {
		return Nowhere()
	}
	return m.seen.Mixed(m.tags)
}

// Nowhere returns a writer that discards everything.
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

// Report prints the collected values and writes the file. Only a file that the user named leads to
// an error. If the default file cannot be written, as in a pod with a read-only root, Report warns:
// the values were already printed.
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
		v.Warn("metrics may be missing: %s of output without a newline exceeded 64 KiB", phrase.Count(n, "piece"))
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
		v.Warn("metrics not written (--metrics-file=FILE writes them elsewhere): %v", err)
		return nil
	}
	return failure.New(names.ExitOutput, "--metrics-file=FILE writes them elsewhere", "write metrics: %w", err)
}
