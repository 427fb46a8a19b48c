package kubeflow

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// mpi converts what all versions of MPIJob have in common: a launcher, and workers that run agent
// worker.
func (c *conversion) mpi(launcher, worker *replica, slots reader) {
	spec := &c.job.Spec
	if spec.Framework == "" {
		spec.Framework = "mpi"
	}
	spec.Slots = c.slots(slots)
	if launcher == nil || worker == nil {
		return
	}
	if launcher.count != 1 {
		launcher.in.at("replicas").fatal("set 1", "a job has one launcher, not %d", launcher.count)
	}
	work(&worker.template, worker.container, worker.in.at("template"))
	c.command(&launcher.template, launcher.container, launcher.in.at("template"))
	configDir(&launcher.template, launcher.container)
	configDir(&worker.template, worker.container)
	spec.Launcher = &v1alpha1.Launcher{Container: launcher.container, Template: launcher.template}
	spec.Workers = new(worker.count)
	spec.Roles = []v1alpha1.Role{{Name: "worker", Container: worker.container, Template: worker.template}}
}

// configDir mounts a volume where the operators mounted hostfile, kubexec.sh and discover_hosts.sh,
// for the agent to fill. Images have no such directory, and not every user may create one. Mounts
// of the template at that path stay.
func configDir(t *corev1.PodTemplateSpec, name string) {
	const volume = "mpi-job-config"
	o, _ := own(t, name)
	if slices.ContainsFunc(o.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == names.MPIDir }) ||
		slices.ContainsFunc(t.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume }) {
		return
	}
	t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	o.VolumeMounts = append(o.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: names.MPIDir})
}

// slots returns how many ranks a worker gets.
func (c *conversion) slots(r reader) int32 {
	n := r.count()
	switch {
	case n == nil:
		return 1
	case *n < 1 || *n > 4096:
		r.fatal("set a number from 1 to 4096", "a worker cannot have %d slots", *n)
	}
	return *n
}

// command makes sure that the launcher has a command before which the agent can be put. Arguments
// that begin with mpirun become the command. The image's entrypoint, which would have waited for
// names and for sshd, is then not run.
func (c *conversion) command(t *corev1.PodTemplateSpec, name string, in reader) {
	o, i := own(t, name)
	if c.baked() || len(o.Command) > 0 {
		return
	}
	at := container(in, i)
	if len(o.Args) > 0 && isLauncher(o.Args[0]) {
		at.at("args").warn("if the entrypoint must run, write it into command", "there is no command: %s runs directly, without the image's entrypoint", short(o.Args[0]))
		o.Command, o.Args = o.Args, nil
		return
	}
	at.at("command").fatal("write the image's own command into the template, or build an image with the agent and use --delivery=baked",
		"the container has no command, and the injected agent can only be put before one")
}

// isLauncher reports whether a program starts ranks on other hosts.
func isLauncher(program string) bool {
	stem, _, _ := strings.Cut(path.Base(program), ".")
	return slices.Contains([]string{"mpirun", "mpiexec", "orterun", "prterun", "horovodrun", "deepspeed"}, stem)
}

// implementation reads which MPI the image contains, in the spelling of each version.
func (c *conversion) implementation(r reader) {
	switch given := r.text(); strings.ToLower(strings.ReplaceAll(given, "_", "")) {
	case "":
	case "openmpi":
		c.job.Spec.Framework = "openmpi"
	case "intel", "intelmpi":
		c.job.Spec.Framework = "intelmpi"
	case "mpich":
		c.job.Spec.Framework = "mpich"
	default:
		r.fatal("want OpenMPI, Intel (IntelMPI in v1alpha2) or MPICH", "unknown MPI implementation %q", given)
	}
}

// launcherRestarts sets the restarts of a launcher that is a batch Job. Whatever its pods' policy
// is, it restarts, by default up to 6 times.
func (c *conversion) launcherRestarts(launcher, worker *replica) {
	if launcher != nil {
		launcher.restart = "OnFailure"
		c.restarts([]replica{*launcher}, c.policy("backoffLimit"), 6)
	}
	if worker != nil {
		worker.in.at("restartPolicy").mention(worker.restart == "Never", "the launcher's policy applies: a worker that fails ends the attempt")
	}
}

// pair reads Launcher and Worker.
func (c *conversion) pair(f family, main reader) (launcher, worker *replica, all []replica) {
	f.types = []string{"Launcher", "Worker"}
	all = c.replicas(c.spec.at("mpiReplicaSpecs"), f, main)
	launcher, worker = find(all, "launcher"), find(all, "worker")
	specs := c.spec.at("mpiReplicaSpecs")
	switch {
	case launcher == nil && specs.has():
		specs.like("Launcher").fatal("add mpiReplicaSpecs.Launcher", "an MPIJob requires one launcher, where mpirun runs")
	case worker == nil && specs.has():
		specs.like("Worker").fatal("set mpiReplicaSpecs.Worker.replicas to at least 1; a launcher alone is not a distributed run", "the job has no workers")
	}
	return launcher, worker, all
}

// oldLabels sets the labels of the operators before training.kubeflow.org.
func (c *conversion) oldLabels(t *corev1.PodTemplateSpec, role string) {
	if c.compat() {
		t.Labels = merged(t.Labels, map[string]string{"group_name": "kubeflow.org", "mpi_job_name": c.job.Name, "mpi_role_type": role})
	}
}

// gpus reports whether the launcher requests GPUs. Under v1 operators it then took ranks.
func gpus(t corev1.PodTemplateSpec) bool {
	for _, c := range t.Spec.Containers {
		for name := range c.Resources.Limits {
			if strings.HasSuffix(string(name), "/gpu") {
				return true
			}
		}
	}
	return false
}
