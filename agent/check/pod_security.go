package check

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Template is the pod template of a role of a job.
type Template struct {
	Role string // launcher, worker
	Spec corev1.PodSpec
}

// OfPodSecurity judges whether a namespace that enforces level admits the pods of these templates.
// admitted says that the API server has admitted pods of the job already, and refused is its message
// if it has not.
func OfPodSecurity(level string, templates []Template, admitted bool, refused string) []Finding {
	if level == "" {
		level = "no level"
	}
	if refused != "" {
		return []Finding{clusterFinding("pod-security", "", Fail, "%s", refused)}
	}
	var found []Finding
	for _, t := range templates {
		if admitted {
			break // the API server knows better
		}
		if broken := violations(level, &t.Spec); len(broken) > 0 {
			found = append(found, clusterFinding("pod-security", t.Role, Fail, "the namespace enforces %s, and the pod template has %s", level, strings.Join(broken[:min(3, len(broken))], ", ")))
		}
	}
	if len(found) == 0 {
		found = append(found, clusterFinding("pod-security", "", OK, "the namespace enforces %s", level))
	}
	return found
}

// violations returns what a Pod Security level forbids in a pod: the rules of the Pod Security
// Standards that templates of jobs break. Others, such as sysctls, are left to the API server.
func violations(level string, spec *corev1.PodSpec) (broken []string) {
	if level != "baseline" && level != "restricted" {
		return nil
	}
	add := func(broke bool, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); broke && !slices.Contains(broken, text) {
			broken = append(broken, text)
		}
	}
	add(spec.HostNetwork, "hostNetwork")
	add(spec.HostPID, "hostPID")
	add(spec.HostIPC, "hostIPC")
	for _, v := range spec.Volumes {
		add(v.HostPath != nil, "volume %s with hostPath", v.Name)
		add(level == "restricted" && v.HostPath == nil && !isRestricted(v.VolumeSource), "volume %s of a forbidden type", v.Name)
	}
	pod := spec.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		own := c.SecurityContext
		if own == nil {
			own = &corev1.SecurityContext{}
		}
		for _, p := range c.Ports {
			add(p.HostPort != 0, "hostPort %d", p.HostPort)
		}
		baselineContainer(add, c.Name, pod, own)
		if level == "restricted" {
			restrictedContainer(add, c.Name, pod, own)
		}
	}
	return broken
}

// usual are the capabilities that baseline allows to add: those of container runtimes.
var usual = []corev1.Capability{"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}

func baselineContainer(add func(bool, string, ...any), name string, pod *corev1.PodSecurityContext, own *corev1.SecurityContext) {
	add(own.Privileged != nil && *own.Privileged, "privileged in container %s", name)
	if own.Capabilities != nil {
		for _, c := range own.Capabilities.Add {
			add(!slices.Contains(usual, c), "capability %s in container %s", c, name)
		}
	}
	profile := seccomp(pod, own)
	add(profile != nil && profile.Type == corev1.SeccompProfileTypeUnconfined, "an unconfined seccompProfile in container %s", name)
}

func restrictedContainer(add func(bool, string, ...any), name string, pod *corev1.PodSecurityContext, own *corev1.SecurityContext) {
	add(own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation, "no allowPrivilegeEscalation: false in container %s", name)
	drops := own.Capabilities != nil && slices.Contains(own.Capabilities.Drop, "ALL")
	add(!drops, "no capabilities.drop: [ALL] in container %s", name)
	if own.Capabilities != nil {
		for _, c := range own.Capabilities.Add {
			add(c != "NET_BIND_SERVICE", "capability %s in container %s", c, name)
		}
	}
	nonRoot := own.RunAsNonRoot
	if nonRoot == nil {
		nonRoot = pod.RunAsNonRoot
	}
	add(nonRoot == nil || !*nonRoot, "no runAsNonRoot: true in container %s", name)
	user := own.RunAsUser
	if user == nil {
		user = pod.RunAsUser
	}
	add(user != nil && *user == 0, "runAsUser: 0 in container %s", name)
	add(seccomp(pod, own) == nil, "no seccompProfile in container %s", name)
}

// seccomp returns the profile of a container: its own, or the pod's.
func seccomp(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) *corev1.SeccompProfile {
	if own.SeccompProfile != nil {
		return own.SeccompProfile
	}
	return pod.SeccompProfile
}

// isRestricted reports whether level restricted allows this type of volume.
func isRestricted(v corev1.VolumeSource) bool {
	return v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
		v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil || v == corev1.VolumeSource{}
}
