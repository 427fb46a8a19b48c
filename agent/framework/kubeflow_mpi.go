package framework

import "github.com/musterhq/muster/agent/names"

// kfMPI gives the launcher what an MPIJob's had; its workers had nothing.
// A launcher that takes ranks counts as one with GPUs, of which the operator
// said the same.
func kfMPI(c Cluster) Launch {
	const (
		agent = names.MPIDir + "/kubexec.sh"
		hosts = names.MPIDir + "/hostfile"
		gpus  = "kubeflow-v1: the launcher is to touch no GPU"
		hydra = "kubeflow-v1: Intel MPI starts its proxies through the agent"
	)
	env := []Var{
		{Name: "OMPI_MCA_plm_rsh_agent", Value: agent, Why: "kubeflow-v1: mpirun starts its daemons through the agent (Open MPI 4)"},
		{Name: "OMPI_MCA_orte_default_hostfile", Value: hosts, Why: "kubeflow-v1: plain mpirun takes every worker, with its slots (Open MPI 4)"},
	}
	if c.Launcher.Slots == 0 {
		env = append(env,
			Var{Name: "NVIDIA_VISIBLE_DEVICES", Value: "", Why: gpus},
			Var{Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "", Why: gpus})
	}
	env = append(env,
		Var{Name: "I_MPI_HYDRA_BOOTSTRAP", Value: "rsh", Why: hydra},
		Var{Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC", Value: agent, Why: hydra})
	faults := []string{
		"Open MPI 5 and MPICH read none of them, and start every rank in the launcher without a word",
		"Intel MPI is given no hostfile",
	}
	if c.Hostfile != hosts {
		faults = append(faults, "they name files in "+names.MPIDir+", and this run's are not there: its hostfile is "+c.Hostfile)
	}
	return Launch{Env: env, Warnings: []string{kfWarning("MPIJob", faults)}}
}
