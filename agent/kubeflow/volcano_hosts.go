package kubeflow

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// hostsDir is where the plugin svc puts a file of host names for each task.
const hostsDir = "/etc/volcano"

// mostHosts limits the bytes of names for each pod: all annotations of a pod may have 256 KiB
// together.
const mostHosts = 100 << 10

// hostFiles provides what the plugins svc, env and mpi promise: /etc/volcano/TASK.host,
// VC_TASK_HOSTS and VC_TASK_NUM, MPI_HOST, and the index in the task. The names of the pods are
// known before the pods exist. The files are annotations that the kubelet mounts.
func (c *conversion) hostFiles(tasks []*task, p plugins) {
	hosts, size := map[string][]string{}, 0
	for _, t := range tasks {
		hosts[t.name] = c.hosts(t, p)
		size += len(strings.Join(hosts[t.name], ","))
	}
	if p.svc && size > mostHosts {
		c.spec.at("tasks").warn("agent hosts prints them, in the launcher", "%d bytes of host names exceed the limit of a pod: no files in %s, no VC_ variables", size, hostsDir)
		p.svc = false
	}
	for _, t := range tasks {
		for i := range t.template.Spec.Containers {
			o := &t.template.Spec.Containers[i]
			for _, other := range tasks {
				if name := strings.ToUpper(strings.ReplaceAll(other.name, "-", "_")); p.svc {
					setDefault(o, "VC_"+name+"_HOSTS", strings.Join(hosts[other.name], ","))
					setDefault(o, "VC_"+name+"_NUM", strconv.Itoa(len(hosts[other.name])))
				}
			}
			if worker := p.names["worker"]; p.framework == "mpi" && t.name == p.names["launcher"] {
				setDefault(o, "MPI_HOST", strings.Join(hosts[worker], ","))
			}
			if p.env {
				index(t, o, p)
			}
		}
		if p.svc {
			c.layFiles(t, tasks, hosts)
		}
	}
}

// hosts returns the names of the pods of a task in the LaunchJob.
func (c *conversion) hosts(t *task, p plugins) (all []string) {
	role := t.role
	for r, name := range p.names {
		if name == t.name {
			role = r
		}
	}
	if role == "launcher" {
		return []string{c.job.Name + "-launcher." + c.job.Name}
	}
	for i := range t.count {
		all = append(all, fmt.Sprintf("%s-%s-%d.%s", c.job.Name, role, i, c.job.Name))
	}
	return all
}

// layFiles puts the names into annotations of the pods, and mounts these as files.
func (c *conversion) layFiles(t *task, tasks []*task, hosts map[string][]string) {
	const volume = "volcano-hosts"
	source := &corev1.DownwardAPIVolumeSource{}
	for _, other := range tasks {
		file := strings.ReplaceAll(other.name, "-", "_") + ".host"
		t.template.Annotations = merged(t.template.Annotations, map[string]string{names.AnnotationVolcanoHosts + file: strings.Join(hosts[other.name], "\n")})
		source.Items = append(source.Items, corev1.DownwardAPIVolumeFile{
			Path: file, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + names.AnnotationVolcanoHosts + file + "']"},
		})
	}
	t.template.Spec.Volumes = append(t.template.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{DownwardAPI: source}})
	for i := range t.template.Spec.Containers {
		o := &t.template.Spec.Containers[i]
		o.VolumeMounts = append(o.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: hostsDir, ReadOnly: true})
	}
}

// index sets the pod's number in its task. It is known for a single pod and, by a label, if the
// workers are the only role.
func index(t *task, o *corev1.Container, p plugins) {
	alone := p.framework == "mpi" || len(p.roles) == 0
	for _, name := range []string{"VC_TASK_INDEX", "VK_TASK_INDEX"} {
		switch {
		case t.count == 1:
			setDefault(o, name, "0")
		case alone:
			o.Env = append(o.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + names.LabelIndex + "']"},
			}})
		default:
			t.in.book.findings = append(t.in.book.findings, Finding{Field: "spec.plugins.env",
				Text: name + " is not set in the task " + t.name, Way: "the environment has the rank: RANK, and TF_CONFIG's task"})
		}
	}
}

// sharedVolumes adds the volumes of the Job to every pod.
func (c *conversion) sharedVolumes(tasks []*task) {
	for i, v := range c.spec.at("volumes").list() {
		name, path, claim := fmt.Sprintf("%s-volume-%d", c.job.Name, i), v.at("mountPath").text(), v.at("volumeClaimName").text()
		source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		switch wanted := v.at("volumeClaim"); {
		case claim != "":
			source = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
			wanted.mention(false, "no claim is created: "+claim+" must exist")
		case wanted.has():
			wanted.fatal("create a PersistentVolumeClaim, and name it in volumeClaimName", "a LaunchJob creates no claims")
		}
		for _, t := range tasks {
			t.template.Spec.Volumes = append(t.template.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
			for i := range t.template.Spec.Containers {
				o := &t.template.Spec.Containers[i]
				o.VolumeMounts = append(o.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
			}
		}
	}
}
