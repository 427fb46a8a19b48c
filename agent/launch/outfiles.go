package launch

import (
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/outfile"
)

// checkOutfiles looks before the run whether the files of --report and
// --metrics-file can be written: hours later it is too late to say so.
func checkOutfiles(c config.Config) error {
	for _, file := range []struct {
		flag, path string
		ours       func([]byte) bool
	}{{"report", c.Report, isReport}, {"metrics-file", c.MetricsFile, metrics.Ours}} {
		if file.path == "" {
			continue
		}
		if err := outfile.Check(file.path, file.ours); err != nil {
			return failure.Usage(outfile.Hint(err), "--%s=%s: %w", file.flag, file.path, err)
		}
	}
	return nil
}
