package config

import (
	"github.com/musterhq/muster/agent/failure"
)

// Values of --transport.
const (
	TransportExec    = "exec"
	TransportNetwork = "network"
	TransportAuto    = "auto"
)

// ByNetwork reports whether to reach workers by the pod network.
func (c Config) ByNetwork() bool {
	return c.Transport == TransportNetwork || c.Transport == TransportAuto && c.KeyFile != ""
}

func (c Config) validateTransport() error {
	if err := failure.OneOf("--transport", c.Transport, TransportExec, TransportNetwork, TransportAuto); err != nil {
		return err
	}
	if c.Transport == TransportNetwork && c.KeyFile == "" && !c.IsFake() {
		return failure.Usage("agent keygen --dir=DIR makes the keys of a job: give launcher.key to the launcher with --key-file, and worker.key to the workers",
			"--transport=network needs --key-file")
	}
	if c.WorkerPort < 1 || c.WorkerPort > 65535 {
		return failure.Usage("--worker-port=9378 is the default", "--worker-port=%d: want 1 to 65535", c.WorkerPort)
	}
	return nil
}
