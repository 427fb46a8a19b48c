package framework

import (
	"errors"
	"fmt"
	"strings"
)

// MPI prepares every MPI family at once.
type MPI struct{}

// Prepare implements Framework. Errors: no workers; a worker without host or
// slots; an agent path that Open MPI would split.
func (MPI) Prepare(c Cluster) (Launch, error) {
	if err := check(c); err != nil {
		return Launch{}, fmt.Errorf("prepare mpi: %w", err)
	}
	launch := Launch{Env: common(c)}
	for _, family := range []Framework{OpenMPI{}, MPICH{}, IntelMPI{}} {
		part, err := family.Prepare(c)
		if err != nil {
			return Launch{}, err
		}
		launch.Env = append(launch.Env, part.Env...)
		launch.Warnings = append(launch.Warnings, part.Warnings...)
	}
	if !c.Fake {
		launch.Env = append(launch.Env, c.launcherSockets()...)
	}
	return launch, nil
}

func check(c Cluster) error {
	if len(c.Workers) == 0 {
		return errors.New("no workers")
	}
	for _, w := range c.Workers {
		if w.Host == "" || w.Slots < 1 {
			return fmt.Errorf("worker %q has host %q and %d slots, want a host and at least 1 slot", w.Name, w.Host, w.Slots)
		}
	}
	if !strings.HasPrefix(c.Agent, "/") || strings.ContainsAny(c.Agent, ": \t\n") {
		return fmt.Errorf("agent path %q must be absolute, without colon or white space: Open MPI splits it there", c.Agent)
	}
	return nil
}

// common is what no family owns. HOME: without it Open MPI 4.1.4 crashes (where
// the uid has no passwd entry) and 5.0.11 ends with "unable to get the user
// home directory". SHELL: without it and a passwd entry Open MPI 4.1.4 warns in
// the job's output that it assumes bash; the name picks a dialect and need not
// exist.
func common(c Cluster) []Var {
	var vars []Var
	if theirs, _ := lookup(c.UserEnv, "HOME"); theirs == "" && c.Home != "" {
		vars = append(vars, Var{
			Name: "HOME", Value: c.Home, NotEmpty: true,
			Why: "Open MPI crashes without a home directory where the user has no passwd entry",
		})
	}
	if theirs, _ := lookup(c.UserEnv, "TMPDIR"); theirs == "" && c.Temp != "" {
		vars = append(vars, Var{
			Name: "TMPDIR", Value: c.Temp, NotEmpty: true,
			Why: "Open MPI ends where it cannot make its session directory: /tmp cannot be written, or, with fake workers, another mpirun tidies it up",
		})
	}
	if theirs, _ := lookup(c.UserEnv, "SHELL"); theirs == "" && c.NoPasswd {
		vars = append(vars, Var{
			Name: "SHELL", Value: "/bin/bash", NotEmpty: true,
			Why: "Open MPI warns that it assumes bash where the user has no passwd entry",
		})
	}
	return vars
}

// loopback is the network of fake hosts.
const loopback = "127.0.0.0/8"

// FakeWorker returns what a fake worker's own environment must hold; dir is a
// directory of that worker alone. Ranks of different fake hosts otherwise make
// the same file in /dev/shm (vader_segment.HOST.UID.JOB.LOCALRANK), because all
// fake hosts have one host name, and die of SIGSEGV in the shared-memory BTL.
// It must be the worker's and not the launcher's: one value for all is what
// collides. With it the BTLs that Open MPI chooses work, and so does a user's
// own `-mca btl`.
func FakeWorker(dir string) []Var {
	return []Var{
		{Name: "TMPDIR", Value: dir, Why: "daemons of two fake hosts must not share a session directory"},
		{Name: "OMPI_MCA_btl_vader_backing_directory", Value: dir, Why: "Open MPI 4: shared memory files of two fake hosts have the same names"},
		{Name: "OMPI_MCA_btl_sm_backing_directory", Value: dir, Why: "Open MPI 5: shared memory files of two fake hosts have the same names"},
	}
}
