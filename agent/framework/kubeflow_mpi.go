package framework

import (
	"slices"

	"github.com/musterhq/muster/exec/names"
)

// kfMPI gives the launcher the variables of an MPIJob's launcher; its workers had none. It adds
// those that newer MPIs need and the operator did not know: without them Open MPI 5 and MPICH
// silently start every rank in the launcher. If the files of this run are not in /etc/mpi, because
// the user may not write there, the variables that name them are Muster's.
//
// A launcher that takes ranks counts as one with GPUs, for which the operator set the same
// variables. Errors: those of MPI.
func kfMPI(c Cluster) (Launch, error) {
	const (
		agent = names.MPIDir + "/kubexec.sh"
		hosts = names.MPIDir + "/hostfile"
		gpus  = "kubeflow-v1: hides GPUs from the launcher"
		hydra = "kubeflow-v1: Intel MPI starts its proxies through the agent"
	)
	launch, err := MPI{}.Prepare(c)
	if err != nil {
		return Launch{}, err
	}
	var theirs []Var
	var faults []string
	if c.Hostfile == hosts {
		theirs = []Var{
			{Name: "OMPI_MCA_plm_rsh_agent", Value: agent, Why: "kubeflow-v1: mpirun starts its daemons through the agent (Open MPI 4)"},
			{Name: "OMPI_MCA_orte_default_hostfile", Value: hosts, Why: "kubeflow-v1: mpirun without a hostfile uses all workers, with their slots (Open MPI 4)"},
			{Name: "I_MPI_HYDRA_BOOTSTRAP", Value: "rsh", Why: hydra},
			{Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC", Value: agent, Why: hydra},
		}
	} else {
		faults = append(faults, "its variables named files in "+names.MPIDir+", but the files of this run are elsewhere: its hostfile is "+c.Hostfile)
	}
	if c.Launcher.Slots == 0 {
		theirs = append(theirs,
			Var{Name: "NVIDIA_VISIBLE_DEVICES", Value: "", Why: gpus},
			Var{Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "", Why: gpus})
	}
	launch.Env = append(theirs, slices.DeleteFunc(launch.Env, func(v Var) bool {
		return slices.ContainsFunc(theirs, func(have Var) bool { return have.Name == v.Name })
	})...)
	launch.Warnings = append([]string{kfWarning("MPIJob", faults)}, launch.Warnings...)
	return launch, nil
}
