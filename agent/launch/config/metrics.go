package config

import (
	"github.com/musterhq/muster/agent/metrics"

	"github.com/musterhq/muster/agent/failure"
)

// validateMetrics checks --metric.
func (c Config) validateMetrics() error {
	if _, err := metrics.Parse(c.Metrics); err != nil {
		return failure.Usage("want --metric NAME, NAME:RAW or NAME:PERCENTAGE", "%w", err)
	}
	if c.MetricsFile != "" && len(c.Metrics) == 0 {
		return failure.Usage("--metric loss names a metric to write", "--metrics-file requires --metric")
	}
	return nil
}
