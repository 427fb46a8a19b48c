package progress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/trainer"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

const host = "localhost"

var jobKey = client.ObjectKey{Namespace: "hpc", Name: "train"}

// world is an API server with the job hpc/train, its pod train-worker-0, and a stranger's pod. A token
// is the name of its pod; a token that begins with "not" is not valid.
func world(t *testing.T) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, authv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "train", UID: "job"}}
	pod := func(name string, owner *v1alpha1.LaunchJob) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name, UID: "of-" + "pod", Labels: map[string]string{names.LabelJob: "train"}}}
		if owner != nil {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.Version().WithKind(v1alpha1.Kind))}
		}
		return p
	}
	api := fakeapi.New(scheme).WithStatusSubresource(job).
		WithObjects(job, pod("train-worker-0", job), pod("stranger", nil)).Build()
	return interceptor.NewClient(api, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		r, ok := o.(*authv1.TokenReview)
		if !ok {
			return c.Create(ctx, o, opts...)
		}
		name := r.Spec.Token
		if name == "forbidden" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "tokenreviews"}, "", nil)
		}
		uid := "of-pod"
		if name == "renewed" { // an older pod of this name
			name, uid = "train-worker-0", "of-old-pod"
		}
		r.Status = authv1.TokenReviewStatus{Authenticated: !strings.HasPrefix(name, "not"), Audiences: r.Spec.Audiences, User: authv1.UserInfo{
			Username: "system:serviceaccount:hpc:default", Extra: map[string]authv1.ExtraValue{extraPod: {name}, extraUID: {uid}},
		}}
		if name == "for-another-server" {
			r.Status.Audiences = nil
		}
		if name == "another-namespace" {
			r.Status.User.Username = "system:serviceaccount:other:default"
		}
		return nil
	}})
}

// running starts a server over an API server, and returns its address and a client that trusts it.
func running(t *testing.T, api client.WithWatch, c clock.PassiveClock) (address string, h *http.Client, ca []byte) {
	t.Helper()
	id, err := identityOf(t.Context(), api, api, "muster-system", host, time.Now())
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newServer(api, id, Options{Owner: "test"}, logr.Discard(), c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, l) }()
	h = &http.Client{Transport: trusting(id.ca)}
	t.Cleanup(func() {
		h.CloseIdleConnections()
		cancel()
		require.NoError(t, <-done)
	})
	return "https://" + l.Addr().String(), h, id.ca
}

func TestReports(t *testing.T) {
	const half = `{"trainerStatus":{"progressPercentage":50,"estimatedRemainingSeconds":90,"metrics":[{"name":"loss","value":"0.25"}]}}`
	for name, c := range map[string]struct {
		token, path, method, body string
		over                      bool
		code                      int
		want                      string // the status's progress
	}{
		"a pod of the job":              {code: 200, want: "50%, ETA 1m30s"},
		"no token":                      {token: "-", code: 401},
		"a token that is not valid":     {token: "not-valid", code: 401},
		"a token for another server":    {token: "for-another-server", code: 401},
		"a pod of nobody":               {token: "stranger", code: 403},
		"a pod that does not exist":     {token: "gone", code: 403},
		"a pod of another namespace":    {token: "another-namespace", code: 403},
		"a pod that was replaced":       {token: "renewed", code: 403},
		"another job":                   {path: path("hpc", "other"), code: 403},
		"another path":                  {path: "/metrics", code: 404},
		"a path with a trailing part":   {path: path("hpc", "train") + "/x", code: 404},
		"another method":                {method: http.MethodGet, code: 405},
		"no report":                     {body: "hello", code: 422},
		"a report that is too large":    {body: `{"trainerStatus":{"x":"` + strings.Repeat("y", mostBytes) + `"}}`, code: 413},
		"a job that has ended":          {over: true, code: 409},
		"a controller without a right":  {token: "forbidden", code: 503},
		"fields of a newer Kubeflow":    {body: `{"trainerStatus":{"progressPercentage":7,"mood":"good"},"more":1}`, code: 200, want: "7%"},
		"a report with nothing in it":   {body: `{"trainerStatus":{}}`, code: 200},
		"numbers that a float produced": {body: `{"trainerStatus":{"progressPercentage":49.999}}`, code: 200, want: "49%"},
	} {
		t.Run(name, func(t *testing.T) {
			api := world(t)
			if c.over {
				job := &v1alpha1.LaunchJob{}
				require.NoError(t, api.Get(t.Context(), jobKey, job))
				job.Status.CompletionTime = new(metav1.Now())
				require.NoError(t, api.Status().Update(t.Context(), job))
			}
			address, h, _ := running(t, api, clock.RealClock{})
			or := func(text, other string) string {
				if text == "" {
					return other
				}
				return text
			}
			r, err := http.NewRequestWithContext(t.Context(), or(c.method, http.MethodPost), address+or(c.path, path("hpc", "train")), strings.NewReader(or(c.body, half)))
			require.NoError(t, err)
			if c.token != "-" {
				r.Header.Set("Authorization", "Bearer "+or(c.token, "train-worker-0"))
			}
			answer, err := h.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, c.code, answer.StatusCode)
			job := &v1alpha1.LaunchJob{}
			require.NoError(t, api.Get(t.Context(), jobKey, job))
			require.Equal(t, c.want, job.Status.Progress)
			require.Equal(t, c.code == 200, job.Status.TrainerStatus != nil)
		})
	}
}

// TestReportsOfTheLauncher sends reports with the launcher's client. The server writes one in five
// seconds for each job, and always the last one.
func TestReportsOfTheLauncher(t *testing.T) {
	api, c := world(t), testclock.NewFakePassiveClock(time.Now())
	address, _, ca := running(t, api, c)
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
		return p
	}
	env := map[string]string{names.EnvTrainerURL: address + path("hpc", "train"), names.EnvTrainerToken: write("token", "train-worker-0\n"), names.EnvTrainerCA: write("ca.crt", string(ca))}
	k, err := trainer.FromEnv(func(name string) string { return env[name] })
	require.NoError(t, err)
	defer k.Close()
	require.ErrorContains(t, k.Send(t.Context(), trainer.Report{Step: 1}), "certificate", "a client checks the server's name")

	env[names.EnvTrainerURL] = strings.Replace(env[names.EnvTrainerURL], "127.0.0.1", host, 1)
	k, err = trainer.FromEnv(func(name string) string { return env[name] })
	require.NoError(t, err)
	defer k.Close()
	require.NoError(t, k.Send(t.Context(), trainer.Report{Step: 1200, Total: 5000, Left: 3 * time.Hour}))
	require.Equal(t, "step 1,200/5,000, ETA 3h", progressOf(t, api))
	require.ErrorIs(t, k.Send(t.Context(), trainer.Report{Step: 1201, Total: 5000}), trainer.ErrLater)
	c.SetTime(c.Now().Add(every))
	require.NoError(t, k.Send(t.Context(), trainer.Report{Step: 1300, Total: 5000}))
	require.Equal(t, "step 1,300/5,000", progressOf(t, api))
	require.NoError(t, k.Send(t.Context(), trainer.Report{Step: 5000, Total: 5000}), "the last report is written at once")
	require.Equal(t, "step 5,000/5,000", progressOf(t, api))
}

// TestReportThatWasNotWritten sends a report again at once, after the API server has refused its first write.
func TestReportThatWasNotWritten(t *testing.T) {
	refuse := true
	api := interceptor.NewClient(world(t), interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
		if refuse {
			refuse = false
			return apierrors.NewServiceUnavailable("not now")
		}
		return c.SubResource(sub).Update(ctx, o, opts...)
	}})
	address, h, _ := running(t, api, testclock.NewFakePassiveClock(time.Now()))
	send := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path("hpc", "train"), strings.NewReader(`{"trainerStatus":{"progressPercentage":7}}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer train-worker-0")
		answer, err := h.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	require.Equal(t, 503, send())
	require.Equal(t, 200, send())
	require.Equal(t, 429, send(), "within five seconds of a report that was written")
	require.Equal(t, "7%", progressOf(t, api))
}

func progressOf(t *testing.T, api client.Reader) string {
	t.Helper()
	job := &v1alpha1.LaunchJob{}
	require.NoError(t, api.Get(t.Context(), jobKey, job))
	return job.Status.Progress
}

// TestReplicasShareACertificate checks that a second replica, or the next controller, has the same
// certificate: the pods of running jobs know no other one.
func TestReplicasShareACertificate(t *testing.T) {
	api := world(t)
	first, err := identityOf(t.Context(), api, api, "muster-system", host, time.Now())
	require.NoError(t, err)
	second, err := identityOf(t.Context(), api, api, "muster-system", host, time.Now())
	require.NoError(t, err)
	require.Equal(t, string(first.ca), string(second.ca))
	_, err = identityOf(t.Context(), api, api, "muster-system", "another.host.svc", time.Now())
	require.ErrorContains(t, err, "another.host.svc")
}

// TestStrangersCannotFloodTheAPIServer checks that reviews are bounded, and that a known token needs
// none.
func TestStrangersCannotFloodTheAPIServer(t *testing.T) {
	s, now := newSenders(world(t)), time.Now()
	_, err := s.who(t.Context(), "train-worker-0", now)
	require.NoError(t, err)
	refused := 0
	for i := range 3 * reviewBurst {
		if _, err := s.who(t.Context(), "not-"+strings.Repeat("x", i), now); errors.Is(err, errBusy) {
			refused++
		}
	}
	require.Equal(t, 2*reviewBurst+1, refused)
	_, err = s.who(t.Context(), "train-worker-0", now)
	require.NoError(t, err, "a known pod is not locked out")
}
