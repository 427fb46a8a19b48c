package config

import (
	"net"
	"strconv"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/metrics"
)

// noMetrics is the address that means none, as for the controller.
const noMetrics = "0"

// ServesMetrics reports whether metrics of the run are to be served.
func (c Config) ServesMetrics() bool { return c.MetricsAddr != "" && c.MetricsAddr != noMetrics }

// validateMetrics checks --metric.
func (c Config) validateMetrics() error {
	if _, err := metrics.Parse(c.Metrics); err != nil {
		return failure.Usage("want --metric NAME, NAME:RAW or NAME:PERCENTAGE", "%w", err)
	}
	if c.MetricsFile != "" && len(c.Metrics) == 0 {
		return failure.Usage("--metric loss names a metric to write", "--metrics-file requires --metric")
	}
	return c.validateMetricsAddr()
}

// validateMetricsAddr checks --metrics-addr. A name of a port, or of a host, is looked up later.
func (c Config) validateMetricsAddr() error {
	if !c.ServesMetrics() {
		return nil
	}
	const example = "--metrics-addr=:9464 serves them at every address of this machine, --metrics-addr=127.0.0.1:9464 only to itself"
	_, port, err := net.SplitHostPort(c.MetricsAddr)
	if err != nil {
		return failure.Usage(example, "--metrics-addr=%s is not HOST:PORT", c.MetricsAddr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return failure.Usage(example, "--metrics-addr=%s: want a port from 0 to 65535", c.MetricsAddr)
	}
	return nil
}
