package submit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// parts are the common parts of a request's pods.
type parts struct {
	labels, annotations map[string]string
	selector            map[string]string
	env                 []corev1.EnvVar
	volumes             []corev1.Volume
	mounts              []corev1.VolumeMount
	tolerations         []corev1.Toleration
	sync                *corev1.Container // fetches the code
	workingDir          string
	limits, small       corev1.ResourceList // of workers, and of roles without GPUs
	containerName       string
}

func (r Request) parts() (p parts, err error) {
	p.containerName = "main"
	if p.labels, err = pairs("label", r.Labels, "team=vision"); err != nil {
		return p, err
	}
	if p.annotations, err = pairs("annotation", r.Annotations, "example.com/note=first"); err != nil {
		return p, err
	}
	if p.selector, err = pairs("selector", r.Selectors, "disk=ssd"); err != nil {
		return p, err
	}
	if p.env, err = env(r.Env); err != nil {
		return p, err
	}
	if p.volumes, p.mounts, err = data(r.Data); err != nil {
		return p, err
	}
	if p.tolerations, err = tolerations(r.Tolerations); err != nil {
		return p, err
	}
	if p.limits, err = r.limits(true); err != nil {
		return p, err
	}
	if p.small, err = r.limits(false); err != nil {
		return p, err
	}
	p.workingDir = r.WorkingDir
	return p, r.addSync(&p)
}

// template returns a pod template of the job.
func (p parts) template(r Request, argv []string, limits corev1.ResourceList) corev1.PodTemplateSpec {
	c := corev1.Container{
		Name: p.containerName, Image: r.Image, ImagePullPolicy: corev1.PullPolicy(r.ImagePullPolicy),
		Command: argv, WorkingDir: p.workingDir,
		Env: p.env, VolumeMounts: p.mounts,
		Resources: corev1.ResourceRequirements{Limits: limits},
	}
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Volumes:       p.volumes, NodeSelector: p.selector, Tolerations: p.tolerations,
		HostNetwork: r.HostNetwork, PriorityClassName: r.Priority,
	}
	for _, name := range r.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if p.sync != nil {
		spec.InitContainers = []corev1.Container{*p.sync}
	}
	spec.Containers = []corev1.Container{c}
	r.secure(&spec)
	meta := metav1.ObjectMeta{Labels: p.labels, Annotations: p.annotations}
	return *(&corev1.PodTemplateSpec{ObjectMeta: meta, Spec: spec}).DeepCopy()
}

// secure sets the requested user of the pod. With --restricted it also sets what Pod Security
// "restricted" requires of every container.
func (r Request) secure(spec *corev1.PodSpec) {
	if r.RunAsUser != nil || r.Restricted {
		spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: r.RunAsUser, RunAsGroup: r.RunAsUser, FSGroup: r.RunAsUser}
	}
	if !r.Restricted {
		return
	}
	spec.SecurityContext.RunAsNonRoot = new(true)
	spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			list[i].SecurityContext = &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}
		}
	}
}

// launcher returns the template of the launcher, which runs the command and takes neither ranks nor
// GPUs.
func (p parts) launcher(r Request, w work) corev1.PodTemplateSpec {
	t := p.template(r, w.argv, nil)
	if c := &t.Spec.Containers[0]; r.RankTags && w.taggable() && !slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == names.EnvOutput }) {
		c.Env = append(c.Env, corev1.EnvVar{Name: names.EnvOutput, Value: names.OutputTag})
	}
	return t
}

// roles returns the other pods, in the order of their ranks. Beside a launcher they run `agent
// worker`, which the controller adds.
func (p parts) roles(r Request, w work) []v1alpha1.Role {
	argv := w.argv
	if w.launcher {
		argv = nil
	}
	var roles []v1alpha1.Role
	add := func(name string, replicas int, limits corev1.ResourceList) {
		role := v1alpha1.Role{Name: name, Template: p.template(r, argv, limits)}
		if name != names.RoleWorker {
			role.Replicas = new(int32(replicas))
		}
		if _, cards := limits[rdmaResource]; cards {
			// RDMA devices need locked memory.
			role.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
				Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"IPC_LOCK"}},
			}
		}
		roles = append(roles, role)
	}
	if r.Chief {
		add("chief", 1, p.limits)
	}
	if r.PS > 0 {
		add("ps", r.PS, p.small)
	}
	if r.Workers > 0 {
		add(names.RoleWorker, r.Workers, p.limits)
	}
	if r.Evaluator {
		add("evaluator", 1, p.limits)
	}
	return roles
}
