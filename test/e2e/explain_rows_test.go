//go:build e2e

package e2e

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/exec/names"
)

// notIn sets a node selector that no node satisfies.
func notIn(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"muster.dev/disk": "none"} }

func first(pod *corev1.Pod) *corev1.Container { return &pod.Spec.Containers[0] }

// instead runs a shell line instead of `agent worker`.
func instead(line string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		first(pod).Command, first(pod).Args = []string{"/bin/sh", "-c", line}, nil
		first(pod).TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
}

// again is like instead, with a container that is restarted whenever it ends.
func again(line string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		instead(line)(pod)
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
}

// before adds an init container that runs a shell line before the worker's container.
func before(line string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		init := *first(pod).DeepCopy()
		init.Name, init.Command, init.Args = "prepare", []string{"/bin/sh", "-c", line}, nil
		init.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
		pod.Spec.InitContainers = []corev1.Container{init}
	}
}

func schedulingRows() []explainRow {
	return []explainRow{
		{
			name: "missing", workers: 3, created: 2, flags: slowly, code: names.ExitDeadline,
			says: []string{
				`^agent: 2/3 ready, .*Missing: no pod yet for worker 2`,
				`^agent: wait for workers: 2 of 3 workers are ready after 1m1\d+s$`,
				`selector: muster.dev/job=x-missing,muster.dev/role=worker, in namespace NS: 2 pods match`,
				`no pod yet for worker 2 for 1m\d+s; 2 pods match`,
				`hint: see what creates the pods .*kubectl get pods -n NS -l 'muster.dev/job=x-missing,muster.dev/role=worker'`,
			},
		},
		{
			name: "unschedulable", flags: slowly, code: names.ExitDeadline, worker: notIn,
			says: []string{
				`POD: the scheduler finds no node for it.*: 0/\d+ nodes are available: .*didn't match Pod's node affinity/selector`,
				`hint: .*node selector`,
			},
		},
		{
			name: "gated", flags: slowly, code: names.ExitDeadline,
			worker: func(pod *corev1.Pod) {
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
			},
			says: []string{`POD: held back by scheduling gate example.com/quota`, `hint: the controller that set the gate`},
		},
		{
			name: "noscheduler", flags: slowly, code: names.ExitDeadline,
			worker: func(pod *corev1.Pod) { pod.Spec.SchedulerName = "nobody" },
			says:   []string{`POD: no scheduler has looked at it for`, `hint: is scheduler nobody running\?`},
		},
		{
			name: "rejected", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				pod.Spec.NodeName, pod.Spec.TopologySpreadConstraints = "node1", nil // without the scheduler
				first(pod).Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5000")}
			},
			says: []string{`^agent: wait for workers: POD: the pod failed \(OutOfcpu\): .*cpu`, `^hint: a failed pod does not restart: delete it`},
		},
	}
}

func imageRows() []explainRow {
	return []explainRow{
		{
			name: "unpulled", flags: slowly, code: names.ExitDeadline,
			worker: func(pod *corev1.Pod) { first(pod).Image = "localhost:1/muster-none:1" },
			says: []string{
				`^agent: 0/1 ready.*POD ImagePullBackOff: localhost:1/muster-none:1: the registry refuses connections`,
				`POD: the image localhost:1/muster-none:1 of container worker cannot be pulled: the registry refuses connections`,
				`hint: check that the registry of localhost:1/muster-none:1 runs and that node node\d reaches it`,
			},
		},
		{
			name: "unresolved", flags: slowly, code: names.ExitDeadline,
			worker: func(pod *corev1.Pod) { first(pod).Image = "registry.invalid/muster-none:1" },
			says: []string{
				`POD: the image registry.invalid/muster-none:1 of container worker cannot be pulled: the registry's name does not resolve`,
				`hint: correct the registry in registry.invalid/muster-none:1`,
			},
		},
		{
			name: "neverpulled", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				first(pod).Image, first(pod).ImagePullPolicy = "localhost/muster-none:1", corev1.PullNever
			},
			says: []string{
				`^agent: wait for workers: POD: the image localhost/muster-none:1 of container worker cannot be pulled: not on the node, and imagePullPolicy is Never`,
				`^hint: load localhost/muster-none:1 on node node\d`,
			},
		},
		{
			name: "badname", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) { first(pod).Image = "localhost/Muster:a:b" },
			says:   []string{`^agent: wait for workers: POD: container worker has image "localhost/Muster:a:b", which is not a valid image name`, `^hint: correct the image`},
		},
	}
}

// mounting mounts a volume in a worker.
func mounting(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: source})
		first(pod).VolumeMounts = append(first(pod).VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
	}
}

func startRows() []explainRow {
	return []explainRow{
		{
			name: "noconfig", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				first(pod).EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
			},
			says: []string{`^agent: wait for workers: POD: container worker cannot be configured: configmap "settings" not found`, `^hint: create the Secret, ConfigMap`},
		},
		{
			name: "asroot", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				pod.Spec.SecurityContext.RunAsUser, pod.Spec.SecurityContext.RunAsGroup = nil, nil
			},
			says: []string{`^agent: wait for workers: POD: container worker cannot be configured: container has runAsNonRoot and image will run as root`, `^hint: .*securityContext`},
		},
		{
			name: "novolume", flags: slowly, code: names.ExitDeadline, worker: mounting(corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "data"}}}),
			says: []string{
				`POD: node node\d has been preparing its containers for .*; its events say why, and the launcher may not read them`,
				`hint: add this rule to the Role .*"events".*; or kubectl describe pod POD -n NS`,
			},
		},
		{
			name: "noconfigmap", flags: slowly, code: names.ExitDeadline, role: reading("events"), worker: mounting(corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "data"}}}),
			says: []string{`POD.*configmap "data" not found`},
		},
		{
			name: "nosecret", flags: slowly, code: names.ExitDeadline, role: reading("events"), worker: mounting(corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "data"}}),
			says: []string{`POD.*secret "data" not found`},
		},
		{
			name: "nocsi", flags: slowly, code: names.ExitDeadline, role: reading("events"), worker: mounting(corev1.VolumeSource{
				CSI: &corev1.CSIVolumeSource{Driver: "none.muster.dev"}}),
			says: []string{`POD.*none\.muster\.dev`},
		},
		{
			name: "noclaim", flags: slowly, code: names.ExitDeadline, role: reading("events"), worker: mounting(corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}),
			says: []string{`POD.*persistentvolumeclaim "data" not found`},
		},
		{
			name: "nocommand", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) { first(pod).Command = []string{"/opt/no/such"} },
			says: []string{
				`^agent: wait for workers: POD: container worker cannot be started \((StartError|RunContainerError), 0 restarts\): .*exec: "/opt/no/such": stat /opt/no/such: no such file or directory`,
				`^hint: correct command, args or image of container worker`,
			},
		},
		{
			name: "noworker", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) { first(pod).Command = []string{"/opt/bin/agent", "worker"} },
			says:   []string{`^agent: wait for workers: POD: container worker has no agent \(/opt/bin/agent\): .*no such file`, `^hint: set spec.agent.delivery: auto`},
		},
		{
			name: "initfails", code: names.ExitHopeless, worker: before("echo the licence server is down >&2; exit 4"),
			says: []string{`^agent: wait for workers: POD: init container prepare ended with exit code 4 .*the licence server is down`, `^hint: see kubectl logs POD -c prepare -n NS$`},
		},
		{
			name: "initagain", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				before("echo the licence server is down >&2; exit 4")(pod)
				pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			},
			says: []string{`^agent: wait for workers: POD: init container prepare ended with exit code 4 \(\d restarts\): the licence server is down`, `^hint: see kubectl logs POD -c prepare -n NS`},
		},
		{
			name: "initwaits", flags: slowly, code: names.ExitDeadline, worker: before("sleep 300"),
			says: []string{`POD: init container prepare still runs for \d+`, `hint: see kubectl logs POD -c prepare -n NS`},
		},
		{
			name: "twocontainers", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				other := *first(pod).DeepCopy()
				first(pod).Name, other.Name = "main", "logger"
				other.Command = []string{"/bin/sleep", "300"}
				pod.Spec.Containers = append(pod.Spec.Containers, other)
			},
			says: []string{`^agent: wait for workers: POD: the pod has 2, and none is marked as the worker's: main, logger`, `^hint: .*--container`},
		},
	}
}

// greedy is a line that uses 200 MB of memory.
const greedy = `exec python3 -c 'x = b"x" * (200 << 20)'`

func endRows() []explainRow {
	return []explainRow{
		{
			name: "crashloop", code: names.ExitHopeless, worker: again("echo no GPU on this machine >&2; exit 3"),
			says: []string{
				`^agent: 0/1 ready.*POD (Error|CrashLoop): exit code 3: no GPU on this machine`,
				`^agent: wait for workers: POD: container worker ended with exit code 3 \([2-9] restarts\): no GPU on this machine$`,
				`^hint: see kubectl logs POD -c worker -n NS( --previous)?$`,
			},
		},
		{
			name: "fails", code: names.ExitHopeless, worker: instead("echo no GPU on this machine >&2; exit 3"),
			says: []string{`^agent: wait for workers: POD: container worker ended with exit code 3 \(0 restarts\): no GPU on this machine$`, `^hint: see kubectl logs POD -c worker -n NS$`},
		},
		{
			name: "completes", code: names.ExitHopeless, worker: instead("true"),
			says: []string{`^agent: wait for workers: POD: container worker ended with exit code 0 before the job began`, "^hint: the command of the worker must be `agent worker`"},
		},
		{
			name: "oom", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				instead(greedy)(pod)
				first(pod).Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
			},
			says: []string{`^agent: wait for workers: POD: container worker was killed for its memory \(OOMKilled, limit 64Mi, 0 restarts\)$`, `^hint: raise resources.limits.memory of container worker`},
		},
		{
			name: "oomagain", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				again(greedy)(pod)
				first(pod).Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
			},
			says: []string{`^agent: wait for workers: POD: container worker was killed for its memory \(OOMKilled, limit 64Mi, [2-9] restarts\)$`, `^hint: raise resources.limits.memory`},
		},
		{
			name: "evicted", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				instead("dd if=/dev/zero of=/scratch/x bs=1M count=16; sleep 300")(pod)
				limit := resource.MustParse("1Mi")
				pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
					EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}}
				first(pod).VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
			},
			says: []string{`^agent: wait for workers: POD: evicted from node node\d: Usage of EmptyDir volume "scratch" exceeds the limit "1Mi"$`, `^hint: free that resource on the node`},
		},
	}
}
