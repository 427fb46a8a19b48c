package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for pair := range slices.Chunk(pairs, 2) {
		l[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return l
}

// TestChecksOfTheCluster has, for each check of the cluster, facts that fail or warn, and facts that do not.
func TestChecksOfTheCluster(t *testing.T) {
	right := func(allowed bool) Right {
		return Right{Group: "muster.dev", Resource: "launchjobs", Verb: "list", Allowed: allowed}
	}
	root := []Template{{Role: "worker", Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "main"}}}}}
	few := []Quota{{Name: "few", Hard: list("pods", "3", "cpu", "4"), Used: list("pods", "2", "cpu", "1")}}
	for _, c := range []struct {
		name    string
		found   []Finding
		check   string
		verdict Verdict
		text    string
	}{
		{"down", OfServer(Server{Host: "https://a", Error: "https://a does not answer: refused"}), "cluster", Fail, "https://a does not answer: refused"},
		{"no namespace", OfServer(Server{Host: "https://a", Namespace: "lab", Absent: true}), "cluster", Fail, "namespace lab does not exist"},
		{"up", OfServer(Server{Host: "https://a"}), "cluster", OK, "https://a answers"},
		{"old", OfVersion("v1.29.9"), "version", Warn, "Kubernetes is v1.29.9, and LaunchJobs need 1.30 or later"},
		{"oldest", OfVersion("v1.30.0-eks-1"), "version", OK, "Kubernetes is v1.30.0-eks-1"},
		{"newer than tested", OfVersion("v1.41.0"), "version", OK, "Kubernetes is v1.41.0"},
		{"plus", OfVersion("v1.31+"), "version", OK, "Kubernetes is v1.31+"},
		{"strange", OfVersion("latest"), "version", Unknown, `not checked: the API server's version is "latest"`},
		{"no crd", OfCRD(CRD{Name: "launchjobs.muster.dev", Want: "v1alpha1"}), "crd", Fail, "the cluster has no CRD launchjobs.muster.dev"},
		{"another crd", OfCRD(CRD{Name: "launchjobs.muster.dev", Want: "v1alpha1", Served: []string{"v2", "v3"}}), "crd", Fail, "the cluster serves launchjobs.muster.dev in v2, v3 only, and this agent needs v1alpha1"},
		{"crd", OfCRD(CRD{Name: "launchjobs.muster.dev", Want: "v1alpha1", Served: []string{"v1alpha1"}, HasKind: true}), "crd", OK, "the cluster serves launchjobs.muster.dev in v1alpha1"},
		{"stale", OfController(Controller{Leased: true, Namespace: "m", Holder: "a", Stale: 3 * time.Minute}), "controller", Fail, "a in namespace m has not renewed its lease for 3m0s"},
		{"released", OfController(Controller{Leased: true, Namespace: "m"}), "controller", Fail, "no controller holds the lease in namespace m"},
		{"unseen", OfController(Controller{Leased: true, Namespace: "m", Holder: "a", Unseen: "pi", UnseenFor: time.Minute}), "controller", Fail, "no controller has seen the job pi, which was created 1m0s ago"},
		{"new", OfController(Controller{Leased: true, Namespace: "m", Holder: "a", Unseen: "pi", UnseenFor: time.Second}), "controller", OK, "a leads in namespace m"},
		{"no controller", OfController(Controller{Namespace: "m", Everywhere: true}), "controller", Fail, "no namespace has a controller"},
		{"elsewhere", OfController(Controller{Namespace: "m"}), "controller", Unknown, "not checked: there is no controller in namespace m, and no right to look in others"},
		{"hidden", OfController(Controller{Namespace: "m", Error: "no right"}), "controller", Unknown, "not checked: no right"},
		{"not available", OfController(Controller{Namespace: "m", Deployed: true}), "controller", Fail, "the controller in namespace m has no available pod"},
		{"available", OfController(Controller{Namespace: "m", Deployed: true, Available: 2}), "controller", OK, "the controller in namespace m has 2 available pods"},
		{"no right", OfRights(Subject{Namespace: "lab"}, []Right{right(false)}), "rights", Fail, "this user may not list launchjobs.muster.dev in namespace lab"},
		{"rights", OfRights(Subject{User: "jane", Namespace: "lab"}, []Right{right(true)}), "rights", OK, "jane has all 1 rights in namespace lab"},
		{"exec fails", OfExec(Exec{Pod: "w", Error: "exec in w: refused"}), "exec", Fail, "exec in w: refused"},
		{"exec is slow", OfExec(Exec{Pod: "w", Protocol: "SPDY", Took: 3 * time.Second}), "exec", Warn, "exec works over SPDY in 3 s, which is slow"},
		{"not ready", OfExec(Exec{Pod: "w", Protocol: "SPDY", Took: time.Second, Code: 1}), "exec", Warn, "exec works over SPDY in 1 s, but the agent in the pod is not ready (exit code 1): it says nothing"},
		{"exec", OfExec(Exec{Pod: "w", Protocol: "WebSocket", Took: 31 * time.Millisecond}), "exec", OK, "exec works over WebSocket in 0.031 s"},
		{"quota", OfQuotas(few, list("pods", "2"), ""), "quota", Fail, "the job needs 2 more of pods, and 1 of 3 is left"},
		{"quota's other name", OfQuotas(few, list("requests.cpu", "3500m"), ""), "quota", Fail, "the job needs 3500m more of cpu, and 3 of 4 is left"},
		{"quota with a scope", OfQuotas([]Quota{{Name: "few", Hard: list("pods", "1"), Used: list("pods", "3"), Scoped: true}}, list("pods", "2"), ""), "quota", Warn, "the job needs 2 more of pods, and 0 of 1 is left (if the quota's scope covers the pods)"},
		{"quota has room", OfQuotas(few, list("pods", "1", "requests.cpu", "3"), ""), "quota", OK, "the quota has room for the job"},
		{"used up", OfQuotas([]Quota{{Name: "few", Hard: list("pods", "1"), Used: list("pods", "1")}}, nil, ""), "quota", Warn, "all 1 of pods are in use"},
		{"not a quota for jobs", OfQuotas([]Quota{{Name: "few", Hard: list("services", "0"), Used: list("services", "0")}}, nil, ""), "quota", OK, "the quota has room"},
		{"no quota", OfQuotas(nil, nil, ""), "quota", OK, "the namespace has no quota"},
		{"not admitted", OfPodSecurity("baseline", root, false, ""), "pod-security", Fail, "the namespace enforces baseline, and the pod template has hostNetwork"},
		{"admitted", OfPodSecurity("baseline", root, true, ""), "pod-security", OK, "the namespace enforces baseline"},
		{"no level", OfPodSecurity("", root, false, ""), "pod-security", OK, "the namespace enforces no level"},
		{"refused", OfPodSecurity("", nil, false, "violates PodSecurity"), "pod-security", Fail, "violates PodSecurity"},
		{"no scheduler", OfGang(Gang{Backend: "volcano", Kind: "PodGroup.scheduling.volcano.sh"}), "gang", Fail, "the cluster does not serve PodGroup.scheduling.volcano.sh"},
		{"scheduler", OfGang(Gang{Backend: "volcano", Kind: "PodGroup.scheduling.volcano.sh", Served: true}), "gang", OK, "the cluster serves PodGroup.scheduling.volcano.sh"},
		{"scheduler not known", OfGang(Gang{Backend: "volcano", Error: "no right"}), "gang", Unknown, "not checked: no right"},
		{"image", OfImages([]Image{{Image: "a", Pod: "w", Reason: "ErrImagePull", Pulled: true}}), "image", Fail, "w cannot get it: ErrImagePull"},
		{"crash", OfImages([]Image{{Image: "a", Pod: "w", Reason: "CrashLoopBackOff", Pulled: true}}), "image", OK, "a node has pulled it"},
		{"not pulled", OfImages([]Image{{Image: "a"}}), "image", Unknown, "not checked: no pod has pulled it yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Len(t, c.found, 1)
			f := c.found[0]
			require.Equal(t, Finding{Check: c.check, Of: f.Of, Verdict: c.verdict, Found: c.text, Remedy: f.Remedy}, f)
			require.Equal(t, c.verdict == Warn || c.verdict == Fail, f.Remedy != "")
		})
	}
	require.Empty(t, OfGang(Gang{}))
}

// TestTheTableCoversTheCluster checks that each check of the cluster is in the table, before those of workers.
func TestTheTableCoversTheCluster(t *testing.T) {
	var names []string
	for _, c := range Table()[:len(clusterTable)] {
		require.Equal(t, OfCluster, c.Of)
		names = append(names, c.Name)
	}
	require.Equal(t, "cluster version crd controller rights exec quota pod-security gang image", strings.Join(names, " "))
}

// TestMissingRightsBecomeYAML checks that the remedy is YAML with the missing rights, and nothing else.
func TestMissingRightsBecomeYAML(t *testing.T) {
	rights := []Right{
		{Group: "muster.dev", Resource: "launchjobs", Verb: "create"},
		{Group: "muster.dev", Resource: "launchjobs", Verb: "get", Allowed: true},
		{Resource: "pods/exec", Verb: "create", Name: "pi-worker-0"},
		{Group: "muster.dev", Resource: "launchjobs", Verb: "list"},
		{Resource: "pods/log", Verb: "get", Error: "timeout"},
	}
	for user, subject := range map[string]map[string]any{
		"jane@example.org":                {"kind": "User", "name": "jane@example.org", "apiGroup": "rbac.authorization.k8s.io"},
		"":                                {"kind": "User", "name": "USER", "apiGroup": "rbac.authorization.k8s.io"},
		"system:serviceaccount:lab:steps": {"kind": "ServiceAccount", "name": "steps", "namespace": "lab"},
	} {
		found := OfRights(Subject{User: user, Namespace: "lab"}, rights)
		require.Len(t, found, 2)
		require.Equal(t, Fail, found[0].Verdict)
		require.Equal(t, Finding{Check: "rights", Verdict: Unknown, Found: "not checked: get pods/log: timeout"}, found[1])
		_, text, ok := strings.Cut(found[0].Remedy, "kubectl apply -f - <<'EOF'\n")
		require.True(t, ok)
		text, ok = strings.CutSuffix(text, "\nEOF")
		require.True(t, ok)
		role, binding, ok := strings.Cut(text, "---\n")
		require.True(t, ok)
		var got struct {
			Rules    []map[string]any
			RoleRef  map[string]any
			Subjects []map[string]any
			Metadata map[string]any
		}
		require.NoError(t, yaml.Unmarshal([]byte(role), &got))
		require.Equal(t, []map[string]any{
			{"apiGroups": []any{"muster.dev"}, "resources": []any{"launchjobs"}, "verbs": []any{"create", "list"}},
			{"apiGroups": []any{""}, "resources": []any{"pods/exec"}, "resourceNames": []any{"pi-worker-0"}, "verbs": []any{"create"}},
		}, got.Rules)
		require.NoError(t, yaml.Unmarshal([]byte(binding), &got))
		require.Equal(t, "lab", got.Metadata["namespace"])
		require.Equal(t, got.Metadata["name"], got.RoleRef["name"])
		require.Equal(t, []map[string]any{subject}, got.Subjects)
	}
	rights = []Right{{Resource: "events", Verb: "list", Spare: true}}
	require.Equal(t, Warn, Worst(OfRights(Subject{}, rights)), "users can do without spare rights")
}

func TestNeedsOfPods(t *testing.T) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{
		{Resources: corev1.ResourceRequirements{Requests: list("cpu", "500m"), Limits: list("nvidia.com/gpu", "8", "cpu", "2")}},
		{Resources: corev1.ResourceRequirements{Requests: list("memory", "1Gi")}},
	}}
	require.True(t, same(list("pods", "3", "requests.cpu", "1500m", "limits.cpu", "6", "requests.nvidia.com/gpu", "24", "limits.nvidia.com/gpu", "24", "requests.memory", "3Gi"), Needs(3, spec)))
	require.True(t, same(list("pods", "0", "requests.cpu", "0", "limits.cpu", "0", "requests.nvidia.com/gpu", "0", "limits.nvidia.com/gpu", "0", "requests.memory", "0"), Needs(-1, spec)))
	spec.Resources = &corev1.ResourceRequirements{Requests: list("memory", "4Gi"), Limits: list("cpu", "3", "memory", "8Gi")}
	require.True(t, same(list("pods", "2", "requests.cpu", "1", "limits.cpu", "6", "requests.memory", "8Gi", "limits.memory", "16Gi", "requests.nvidia.com/gpu", "16", "limits.nvidia.com/gpu", "16"), Needs(2, spec)), "the pod's own numbers count")
	alone := &corev1.PodSpec{Containers: []corev1.Container{{}}, Resources: &corev1.ResourceRequirements{Limits: list("cpu", "3")}}
	require.True(t, same(list("pods", "2", "requests.cpu", "6", "limits.cpu", "6"), Needs(2, alone)))
	require.True(t, same(list("pods", "5"), Sum(list("pods", "3"), list("pods", "2"))))
}

func same(want, got corev1.ResourceList) bool {
	for key, q := range want {
		other, ok := got[key]
		if !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return len(want) == len(got)
}

// TestPodSecurityLevels breaks one rule at a time of a pod that level restricted admits.
func TestPodSecurityLevels(t *testing.T) {
	sound := func() *corev1.PodSpec {
		return &corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Volumes:         []corev1.Volume{{Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{Name: "main", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}}}}},
		}
	}
	require.Empty(t, violations("restricted", sound()))
	for _, c := range []struct {
		baseline bool // forbids it, too
		text     string
		breaks   func(pod *corev1.PodSpec, own *corev1.SecurityContext)
	}{
		{true, "hostNetwork", func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.HostNetwork = true }},
		{true, "hostPID", func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.HostPID = true }},
		{true, "hostIPC", func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.HostIPC = true }},
		{true, "volume data with hostPath", func(p *corev1.PodSpec, _ *corev1.SecurityContext) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}})
		}},
		{false, "volume nfs of a forbidden type", func(p *corev1.PodSpec, _ *corev1.SecurityContext) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "nfs", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}})
		}},
		{true, "hostPort 80", func(p *corev1.PodSpec, _ *corev1.SecurityContext) {
			p.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
		}},
		{true, "privileged in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.Privileged = new(true) }},
		{true, "capability IPC_LOCK in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.Capabilities.Add = []corev1.Capability{"IPC_LOCK"}
		}},
		{false, "capability CHOWN in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.Capabilities.Add = []corev1.Capability{"CHOWN"}
		}},
		{true, "an unconfined seccompProfile in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}},
		{false, "no seccompProfile in container main", func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.SecurityContext.SeccompProfile = nil }},
		{false, "no allowPrivilegeEscalation: false in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.AllowPrivilegeEscalation = nil }},
		{false, "no capabilities.drop: [ALL] in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.Capabilities = nil }},
		{false, "no runAsNonRoot: true in container main", func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.SecurityContext.RunAsNonRoot = nil }},
		{false, "no runAsNonRoot: true in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.RunAsNonRoot = new(false) }},
		{false, "runAsUser: 0 in container main", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.RunAsUser = new(int64(0)) }},
	} {
		t.Run(c.text, func(t *testing.T) {
			pod := sound()
			c.breaks(pod, pod.Containers[0].SecurityContext)
			require.Equal(t, []string{c.text}, violations("restricted", pod))
			require.Equal(t, c.baseline, len(violations("baseline", pod)) > 0)
			require.Empty(t, violations("privileged", pod))
		})
	}
	pod := sound()
	pod.InitContainers = []corev1.Container{{Name: "init"}}
	require.Len(t, violations("restricted", pod), 2, "init containers count")
}
