package files

import (
	"runtime"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/rundir"
)

// Ground says how a run uses the launcher's machine: Pods or Beside.
type Ground interface {
	// shared reports whether other runs may run beside this one.
	shared() bool
	// legacy returns the directory for files of old manifests; "" means none.
	legacy(cfg config.Config, inPod bool) string
	// describe completes m, and returns the launcher's address. dir is the private directory.
	describe(m *plan.Machine, cfg config.Config, dir string) (address string, err error)
}

// Pods is the ground of a run in a cluster, which has the launcher's machine to itself.
type Pods struct{}

func (Pods) shared() bool { return false }

func (Pods) legacy(cfg config.Config, inPod bool) string {
	if inPod && legacyDir(cfg.MPIDir) {
		return cfg.MPIDir
	}
	return ""
}

func (Pods) describe(m *plan.Machine, cfg config.Config, dir string) (address string, err error) {
	m.Interface = launcherInterface(cfg)
	m.Temp, err = rundir.Temp(dir)
	return cfg.PodIP, err
}

// Beside is the ground of a run over fake workers. They run beside the launcher, and beside other fake
// runs.
type Beside struct{}

func (Beside) shared() bool { return true }

// legacy returns "", because /etc/mpi belongs to the machine.
func (Beside) legacy(config.Config, bool) string { return "" }

// describe chooses a temporary directory of the run's own: if two mpiruns share one, the first to
// end removes the other's files.
func (Beside) describe(m *plan.Machine, _ config.Config, dir string) (address string, err error) {
	m.Fake, m.Processors, m.Interface = true, runtime.NumCPU(), "lo"
	m.Temp, err = rundir.OwnTemp(dir)
	return "127.0.0.1", err
}
