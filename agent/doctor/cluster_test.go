package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/fakekube"
)

// world is an API server with a healthy controller, and with the job pi of a launcher and two workers.
type world struct {
	t      *testing.T
	server *fakekube.Server
	about  *fakekube.About
	jobs   *fakekube.Objects
	api    *jobs.API
	exec   *fakekube.Exec
	code   int // of commands in pods
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, server: fakekube.New(t)}
	w.about = w.server.About()
	w.jobs = w.server.Serve(v1alpha1.Version().String(), v1alpha1.Kind, plural)
	w.exec = fakekube.NewExec(t, func(_ context.Context, _, _ string, argv []string, _ io.Reader, out, _ io.Writer) (int, error) {
		require.Equal(t, []string{names.AgentPath, "ready"}, argv)
		fmt.Fprintln(out, "the worker is about to end")
		return w.code, nil
	})
	w.server.Handle(fakekube.ExecPath, w.exec)
	w.about.Install("muster.dev", "v1alpha1", v1alpha1.Kind)
	w.about.Put("/api/v1/namespaces/lab", map[string]any{"metadata": map[string]any{"name": "lab"}})
	w.renewed(time.Now())
	w.put(nil)
	for _, p := range []string{"pi-launcher", "pi-worker-0", "pi-worker-1"} {
		w.pod(p, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	}
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, namespace: lab}}]\ncurrent-context: c\n", w.server.URL())
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	var err error
	w.api, err = jobs.Open(jobs.Where{Kubeconfig: config})
	require.NoError(t, err)
	return w
}

// renewed sets when the controller renewed its lease.
func (w *world) renewed(at time.Time) { w.lease("muster-controller-abc", at) }

// leader sets who holds the lease.
func (w *world) leader(name string) { w.lease(name, time.Now()) }

func (w *world) lease(holder string, at time.Time) {
	lease := map[string]any{"metadata": map[string]any{"name": leaseName, "namespace": home},
		"spec": map[string]any{"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": metav1.NewMicroTime(at)}}
	w.about.Put("/apis/coordination.k8s.io/v1/leases", map[string]any{"items": []any{lease}})
	w.about.Put(leasePath(home), lease)
}

// put creates the job pi, or replaces it.
func (w *world) put(change func(*v1alpha1.LaunchJob)) {
	job := &v1alpha1.LaunchJob{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.Version().String(), Kind: v1alpha1.Kind}}
	job.Name, job.Namespace = "pi", "lab"
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "repo/pi:1"}}}
	job.Spec.Workers, job.Spec.Roles = new(int32(2)), []v1alpha1.Role{{Name: "worker", Template: corev1.PodTemplateSpec{Spec: spec}}}
	job.Spec.Launcher = &v1alpha1.Launcher{Template: corev1.PodTemplateSpec{Spec: spec}}
	job.Status.Phase = v1alpha1.PhaseRunning
	if change != nil {
		change(job)
	}
	w.jobs.Put(job)
}

func (w *world) pod(name string, state corev1.ContainerState) {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "repo/pi:1"}}}}
	p.Name, p.Namespace = name, "lab"
	role, index, _ := strings.Cut(strings.TrimPrefix(name, "pi-"), "-")
	p.Labels = map[string]string{names.LabelJob: "pi", names.LabelPod: name, names.LabelRole: role, names.LabelIndex: index}
	p.Status.Phase = corev1.PodRunning
	if state.Waiting != nil {
		p.Status.Phase = corev1.PodPending
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: state}}
	w.server.Set(p)
}

// verdicts checks the cluster and job, and returns the first finding with the worst verdict of each check.
func (w *world) verdicts(job string) map[string]check.Finding {
	w.t.Helper()
	found, _, err := Cluster(w.t.Context(), w.api, job)
	require.NoError(w.t, err)
	check.Sort(found)
	first := map[string]check.Finding{"": found[0]}
	for _, f := range found {
		if _, known := first[f.Check]; !known {
			first[f.Check] = f
		}
	}
	return first
}

func TestHealthyJob(t *testing.T) {
	w := newWorld(t)
	for _, job := range []string{"", "pi"} {
		want := len(ofCluster) + 1
		if job != "" {
			want += len(ofJob)
		}
		found := w.verdicts(job)
		require.Len(t, found, want+1)
		for name, f := range found {
			require.Equal(t, check.OK, f.Verdict, "%s: %s", name, f.Found)
		}
	}
	require.Regexp(t, `^exec works over WebSocket in `, w.verdicts("pi")["exec"].Found)
	w.exec.Refuse(fakekube.WebSocket, 400, "a proxy that knows no WebSocket")
	require.Regexp(t, `^exec works over SPDY in `, w.verdicts("pi")["exec"].Found)
}

// TestWhatFails breaks one thing at a time. The finding about it must be the first one.
func TestWhatFails(t *testing.T) {
	pullFails := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}
	quota := corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{"pods": mustParse("3")}, Used: corev1.ResourceList{"pods": mustParse("3")}}}
	for name, c := range map[string]struct {
		job     string
		breaks  func(*world)
		check   string
		verdict check.Verdict
		found   string // part of it
	}{
		"no answer":         {"pi", func(w *world) { w.server.Stop() }, "cluster", check.Fail, "connection refused"},
		"expired":           {"pi", func(w *world) { w.server.Fail(fakekube.Failure{Code: 401}) }, "cluster", check.Fail, "does not accept the credentials"},
		"internal error":    {"", func(w *world) { w.server.Fail(fakekube.Failure{Code: 500}) }, "cluster", check.Fail, "answers with an error"},
		"no namespace":      {"pi", func(w *world) { w.about.Put("/api/v1/namespaces/lab", nil) }, "cluster", check.Fail, "namespace lab does not exist"},
		"old":               {"pi", func(w *world) { w.about.SetVersion("v1.29.3") }, "version", check.Warn, "v1.29.3"},
		"no CRD":            {"pi", func(w *world) { w.about.Uninstall("muster.dev") }, "crd", check.Fail, "no CRD launchjobs.muster.dev"},
		"another CRD":       {"pi", func(w *world) { w.about.Uninstall("muster.dev"); w.about.Install("muster.dev", "v9", "LaunchJob") }, "crd", check.Fail, "in v9 only"},
		"no controller":     {"pi", func(w *world) { w.about.Put("/apis/coordination.k8s.io/v1/leases", nil) }, "controller", check.Fail, "no namespace has a controller"},
		"no leader":         {"", func(w *world) { w.leader("") }, "controller", check.Fail, "no controller holds the lease"},
		"no available pod":  {"", func(w *world) { w.deploy(0) }, "controller", check.Fail, "no available pod"},
		"hidden controller": {"", func(w *world) { w.forbid("/leases", "/deployments") }, "controller", check.Unknown, "not checked"},
		"unseen": {"pi", func(w *world) {
			w.put(func(j *v1alpha1.LaunchJob) {
				j.Status.Phase = ""
				j.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Minute))
			})
		}, "controller", check.Fail, "no controller has seen the job pi"},
		"no right": {"pi", func(w *world) {
			w.about.Deny(func(q fakekube.Question) bool { return q.Resource == plural && q.Verb == "create" })
		}, "rights", check.Fail, "jane may not create launchjobs.muster.dev in namespace lab"},
		"no spare right":   {"pi", func(w *world) { w.about.Deny(func(q fakekube.Question) bool { return q.Subresource == "scale" }) }, "rights", check.Warn, "patch launchjobs/scale.muster.dev"},
		"no review":        {"pi", func(w *world) { w.forbid("/selfsubjectaccessreviews") }, "rights", check.Unknown, "not checked"},
		"job hidden":       {"pi", func(w *world) { w.forbid("/launchjobs/pi") }, "exec", check.Unknown, "not checked"},
		"exec fails":       {"pi", func(w *world) { w.server.Fail(fakekube.Failure{Code: 500, Match: at("/exec")}) }, "exec", check.Fail, "exec in pi-worker-0"},
		"exec forbidden":   {"pi", func(w *world) { w.forbid("/exec") }, "exec", check.Unknown, "not checked"},
		"worker not ready": {"pi", func(w *world) { w.code = 1 }, "exec", check.Warn, "(exit code 1): the worker is about to end"},
		"quota used up":    {"", func(w *world) { w.quota(quota) }, "quota", check.Warn, "all 3 of pods are in use"},
		"quota too small":  {"pi", func(w *world) { w.quota(quota); w.server.Delete("lab", "pi-worker-1") }, "quota", check.Fail, "needs 1 more of pods, and 0 of 3 is left"},
		"quota hidden":     {"", func(w *world) { w.forbid("/resourcequotas") }, "quota", check.Unknown, "not checked"},
		"quota refused": {"pi", func(w *world) {
			w.put(func(j *v1alpha1.LaunchJob) { j.Status.Message = "pods \"x\" is forbidden: exceeded quota: few" })
		}, "quota", check.Fail, "exceeded quota: few"},
		"pods not admitted": {"pi", func(w *world) { w.restricted(); w.noPods() }, "pod-security", check.Fail, "enforces restricted, and the pod template has no allowPrivilegeEscalation: false in container main"},
		"namespace hidden":  {"", func(w *world) { w.forbid("/namespaces/lab") }, "pod-security", check.Unknown, "not checked"},
		"security refused": {"pi", func(w *world) {
			w.put(func(j *v1alpha1.LaunchJob) {
				j.Status.Message = `pods "x" is forbidden: violates PodSecurity "baseline:latest"`
			})
		}, "pod-security", check.Fail, "violates PodSecurity"},
		"no gang scheduler":  {"pi", func(w *world) { w.put(withGang("volcano")) }, "gang", check.Fail, "does not serve PodGroup.scheduling.volcano.sh"},
		"gang not known":     {"pi", func(w *world) { w.put(withGang("later")) }, "gang", check.Unknown, "not checked"},
		"image missing":      {"pi", func(w *world) { w.pod("pi-worker-1", pullFails) }, "image", check.Fail, "pi-worker-1 cannot get it: ImagePullBackOff: not found"},
		"image not yet used": {"pi", func(w *world) { w.noPods() }, "exec", check.Unknown, "no worker of pi runs"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.breaks(w)
			f := w.verdicts(c.job)[""]
			require.Equal(t, c.check, f.Check, f.Found)
			require.Equal(t, c.verdict, f.Verdict, f.Found)
			require.Contains(t, f.Found, c.found)
			require.Equal(t, f.Verdict != check.Unknown, f.Remedy != "", f.Remedy)
		})
	}
}

func TestGangServed(t *testing.T) {
	w := newWorld(t)
	w.put(withGang("volcano"))
	w.about.Install("scheduling.volcano.sh", "v1beta1", "PodGroup")
	require.Equal(t, check.OK, w.verdicts("pi")["gang"].Verdict)
}

// TestAdmittedPodsProveTheirSecurity checks that pods that exist count more than their templates, which an admission
// webhook may have completed.
func TestAdmittedPodsProveTheirSecurity(t *testing.T) {
	w := newWorld(t)
	w.restricted()
	require.Equal(t, check.OK, w.verdicts("pi")["pod-security"].Verdict)
}

// TestAnotherClock checks that a controller that renews its lease is alive even if this machine's clock is wrong.
func TestAnotherClock(t *testing.T) {
	w := newWorld(t)
	old := time.Now().Add(-time.Hour)
	w.renewed(old)
	reads := 0
	w.server.Fail(fakekube.Failure{Code: 500, Match: func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/leases/"+leaseName) {
			if reads++; reads == 1 {
				w.renewed(old.Add(2 * time.Second))
			}
		}
		return false
	}})
	d := newDoctor(w.api)
	d.renewal = time.Millisecond
	found := check.OfController(d.controller(t.Context(), nil))[0]
	require.Equal(t, check.OK, found.Verdict, found.Found)

	found = check.OfController(d.controller(t.Context(), nil))[0]
	require.Equal(t, check.Fail, found.Verdict)
	require.Regexp(t, `^muster-controller-abc in namespace muster-system has not renewed its lease for (1h0m|59m5)`, found.Found)
}

// TestControllerWithoutLease checks that a controller without leader election is found by its Deployment.
func TestControllerWithoutLease(t *testing.T) {
	w := newWorld(t)
	w.deploy(1)
	require.Equal(t, "the controller in namespace muster-system has 1 available pod", w.verdicts("")["controller"].Found)
}

// TestLeaseOfTheUsualNamespace checks that a user who may not list leases everywhere still sees the usual one.
func TestLeaseOfTheUsualNamespace(t *testing.T) {
	w := newWorld(t)
	w.server.Fail(fakekube.Failure{Code: 403, Match: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/v1/leases") }})
	require.Equal(t, "muster-controller-abc leads in namespace muster-system", w.verdicts("")["controller"].Found)
	w.about.Put(leasePath(home), nil)
	require.Equal(t, check.Unknown, w.verdicts("")["controller"].Verdict, "another namespace may have it")
}

func TestNoSuchJob(t *testing.T) {
	_, _, err := Cluster(t.Context(), newWorld(t).api, "zeta")
	require.ErrorContains(t, err, `"zeta" not found`)
}

func TestLaunchersRights(t *testing.T) {
	w := newWorld(t)
	w.about.SetUser("system:serviceaccount:lab:pi-launcher")
	found := Launcher(t.Context(), w.api, false, []string{"pi-worker-0", "pi-worker-1"})
	require.Equal(t, check.OK, check.Worst(found), found[0].Found)
	w.about.Deny(func(q fakekube.Question) bool { return q.Subresource == "exec" && q.Name == "pi-worker-1" })
	found = Launcher(t.Context(), w.api, false, []string{"pi-worker-0", "pi-worker-1"})
	require.Equal(t, "the launcher may not create pods/exec pi-worker-1, get pods/exec pi-worker-1 in namespace lab", found[0].Found)
	require.Contains(t, found[0].Remedy, `{kind: ServiceAccount, name: "pi-launcher", namespace: "lab"}`)
	w.about.Deny(func(q fakekube.Question) bool { return q.Resource == "pods" && q.Subresource == "" && q.Name == "" })
	require.Equal(t, check.OK, check.Worst(Launcher(t.Context(), w.api, true, []string{"pi-worker-0"})), "by name, it need not list pods")
	w.server.Stop()
	require.Equal(t, "cluster", Launcher(t.Context(), w.api, true, nil)[0].Check)
}
