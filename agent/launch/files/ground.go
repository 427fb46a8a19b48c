package files

import (
	"runtime"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/rundir"
)

// ground says how a run uses the launcher's machine. In pods, the run has the machine to itself. Fake
// workers run beside the launcher, and beside other fake runs.
type ground interface {
	// shared reports whether other runs may run beside this one.
	shared() bool
	// legacy returns the directory for files of old manifests; "" means none.
	legacy(cfg config.Config, inPod bool) string
	// describe completes m, and returns the launcher's address. dir is the private directory.
	describe(m *plan.Machine, cfg config.Config, dir string) (address string, err error)
}

func groundOf(cfg config.Config) ground {
	if cfg.IsFake() {
		return beside{}
	}
	return pods{}
}

// pods is the ground of a run in a cluster.
type pods struct{}

func (pods) shared() bool { return false }

func (pods) legacy(cfg config.Config, inPod bool) string {
	if inPod && legacyDir(cfg.MPIDir) {
		return cfg.MPIDir
	}
	return ""
}

func (pods) describe(m *plan.Machine, cfg config.Config, dir string) (address string, err error) {
	m.Interface = launcherInterface(cfg)
	m.Temp, err = rundir.Temp(dir)
	return cfg.PodIP, err
}

// beside is the ground of a run over fake workers.
type beside struct{}

func (beside) shared() bool { return true }

// legacy returns "", because /etc/mpi belongs to the machine.
func (beside) legacy(config.Config, bool) string { return "" }

// describe chooses a temporary directory of the run's own: if two mpiruns share one, the first to
// end removes the other's files.
func (beside) describe(m *plan.Machine, _ config.Config, dir string) (address string, err error) {
	m.Fake, m.Processors, m.Interface = true, runtime.NumCPU(), "lo"
	m.Temp, err = rundir.OwnTemp(dir)
	return "127.0.0.1", err
}
