package framework

import (
	"errors"
	"fmt"
	"strings"
)

// MPI prepares every MPI family at once.
type MPI struct{}

// Prepare implements Framework. It returns an error if there are no workers, if a worker has no
// host or no slots, and for an agent path that Open MPI would split.
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

// common returns the variables that belong to no family. Without HOME, Open MPI 4.1.4 crashes if
// the uid has no passwd entry, and 5.0.11 fails with "unable to get the user home directory".
// Without SHELL and a shell in the passwd entry that it knows, Open MPI 4.1.4 warns in the job's
// output that it assumes bash. The value of SHELL only selects a dialect, so that shell need not
// exist.
func common(c Cluster) []Var {
	var vars []Var
	if theirs, _ := lookup(c.UserEnv, "HOME"); theirs == "" && c.Home != "" {
		vars = append(vars, Var{
			Name: "HOME", Value: c.Home, NotEmpty: true,
			Why: "without HOME, Open MPI crashes if the user has no passwd entry",
		})
	}
	if theirs, _ := lookup(c.UserEnv, "TMPDIR"); theirs == "" && c.Temp != "" {
		vars = append(vars, Var{
			Name: "TMPDIR", Value: c.Temp, NotEmpty: true,
			Why: "Open MPI needs a session directory: /tmp is not writable or, with fake workers, another mpirun may delete it",
		})
	}
	if theirs, _ := lookup(c.UserEnv, "SHELL"); theirs == "" && c.NoPasswd {
		vars = append(vars, Var{
			Name: "SHELL", Value: "/bin/bash", NotEmpty: true,
			Why: "otherwise Open MPI warns that it assumes bash if the user has no shell in /etc/passwd",
		})
	}
	return vars
}

// loopback is the network of fake hosts.
const loopback = "127.0.0.0/8"

// FakeWorker returns the variables of a fake worker's own environment. dir is a directory of that
// worker only. All fake hosts have one host name, so ranks on different ones would create the same
// file in /dev/shm (vader_segment.HOST.UID.JOB.LOCALRANK) and crash with SIGSEGV in the
// shared-memory BTL. The value must differ for each worker, so it cannot come from the launcher.
// With it, Open MPI's default BTLs work, and so does a user's own `-mca btl`.
func FakeWorker(dir string) []Var {
	return []Var{
		{Name: "TMPDIR", Value: dir, Why: "daemons of two fake hosts must not share a session directory"},
		{Name: "OMPI_MCA_btl_vader_backing_directory", Value: dir, Why: "Open MPI 4: otherwise shared memory files of two fake hosts have the same names"},
		{Name: "OMPI_MCA_btl_sm_backing_directory", Value: dir, Why: "Open MPI 5: otherwise shared memory files of two fake hosts have the same names"},
	}
}
