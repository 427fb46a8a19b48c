package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/fakekube"
	"github.com/musterhq/muster/test/suite/await"
)

// office is the API server of one script, with the commands that let the script act as controller
// and kubelets.
type office struct {
	api   *fakekube.Server
	about *fakekube.About
	jobs  *fakekube.Objects
	logs  *fakekube.Logs
}

func newOffice(t *testing.T) *office {
	o := &office{api: fakekube.New(t), logs: fakekube.NewLogs()}
	o.jobs = o.api.Serve(v1alpha1.Version().String(), v1alpha1.Kind, "launchjobs")
	o.api.Handle(fakekube.LogPath, o.logs)
	o.api.Handle(fakekube.ExecPath, fakekube.NewExec(t, echo))
	o.about = o.api.About()
	o.about.Install(v1alpha1.Version().Group, v1alpha1.Version().Version, v1alpha1.Kind)
	for _, name := range []string{"lab", "elsewhere"} { // other namespaces do not exist
		o.about.Put("/api/v1/namespaces/"+name, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
	}
	o.about.Put("/apis/coordination.k8s.io/v1/leases", map[string]any{"items": []any{map[string]any{
		"metadata": map[string]any{"name": "muster-controller", "namespace": "muster-system"},
		"spec":     map[string]any{"holderIdentity": "muster-controller-abc", "leaseDurationSeconds": 3600, "renewTime": metav1.NowMicro()},
	}}})
	return o
}

// configure writes a kubeconfig whose current context has the namespace lab.
func (o *office) configure(path string) error {
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c, namespace: lab}}, {name: other, context: {cluster: c, namespace: elsewhere}}]\ncurrent-context: c\n", o.api.URL())
	return os.WriteFile(path, []byte(config), 0o600)
}

// blocked is what the launcher of the job pi finds out about its workers.
const blocked = `[{"check": "connect", "of": "pi-worker-0 to pi-worker-1", "node": "node-1", "verdict": "fail", "found": "no connection: i/o timeout",
"remedy": "allow all ports between the job's pods"}, {"check": "shm", "of": "pi-worker-0", "verdict": "ok", "found": "/dev/shm has 1Gi free of 1Gi"}]`

// paced is what the launcher of the job pi knows about the steps of its ranks.
const paced = `{"workers": [
{"worker": "pi-worker-0", "node": "node-1", "cpu_millis": 40, "ranks": [{"rank": 0, "step_seconds": 1.0}, {"rank": 1, "step_seconds": 1.02}]},
{"worker": "pi-worker-1", "node": "node-1", "ranks": [{"rank": 2, "step_seconds": 0.98}, {"rank": 3, "step_seconds": 1.4, "straggler": true, "median_step_seconds": 1.01, "ranks": 4}]}]}`

// echo handles every command in a pod: it prints the pod, the container and the arguments, and
// exits with 4. The agent's ready and doctor answer as they do in a job with a blocked pair, and top
// as with a straggler.
func echo(_ context.Context, pod, container string, argv []string, _ io.Reader, stdout, stderr io.Writer) (int, error) {
	switch {
	case slices.Equal(argv, []string{names.AgentPath, "ready"}):
		return 0, nil
	case slices.Equal(argv, []string{names.AgentPath, "doctor", "-o", "json"}) && pod == "pi-launcher":
		fmt.Fprintln(stdout, blocked)
		return 1, nil
	case slices.Equal(argv, []string{names.AgentPath, "top", "-o", "json"}) && pod == "pi-launcher":
		fmt.Fprintln(stdout, paced)
		return 0, nil
	}
	fmt.Fprintf(stdout, "%s %s %q\n", pod, container, argv)
	fmt.Fprintln(stderr, "on stderr")
	return 4, nil
}

// TestJobScripts runs scripts of the verbs for jobs against an API server.
func TestJobScripts(t *testing.T) {
	t.Parallel()
	var offices sync.Map // by the directory of the script
	of := func(ts *testscript.TestScript) *office {
		o, _ := offices.Load(ts.Getenv("WORK"))
		return o.(*office)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/jobs",
		Setup: func(env *testscript.Env) error {
			o := newOffice(t)
			offices.Store(env.WorkDir, o)
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "kubeconfig"))
			env.Setenv("BIN", bin)
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			return o.configure(env.Getenv("KUBECONFIG"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":    expectCode,
			"apply":   func(ts *testscript.TestScript, _ bool, args []string) { of(ts).apply(ts, args[0]) },
			"job":     func(ts *testscript.TestScript, _ bool, args []string) { of(ts).job(ts, args) },
			"await":   func(ts *testscript.TestScript, _ bool, args []string) { of(ts).await(ts, args) },
			"pod":     func(ts *testscript.TestScript, _ bool, args []string) { of(ts).pod(ts, args) },
			"said":    func(ts *testscript.TestScript, _ bool, args []string) { said(ts, args) },
			"print":   func(ts *testscript.TestScript, _ bool, args []string) { of(ts).print(ts, args) },
			"hostile": func(ts *testscript.TestScript, _ bool, args []string) { of(ts).hostile(args[0]) },
			"api":     func(ts *testscript.TestScript, _ bool, args []string) { of(ts).server(ts, args) },
		},
	})
}

// job implements `job NAME [FIELD=VALUE]...`. It sets what the controller would write: phase,
// reason, message, progress, goodput, ready, code, ended (how long ago), launcher, namespace, label. framework,
// workers and procs are fields of the user. output is --output of the launcher, and claim the
// PersistentVolumeClaim that it mounts at /logs.
func (o *office) job(ts *testscript.TestScript, args []string) {
	namespace := "lab"
	fields := map[string]string{}
	for _, word := range args[1:] {
		k, v, _ := strings.Cut(word, "=")
		fields[k] = v
	}
	if fields["namespace"] != "" {
		namespace = fields["namespace"]
	}
	var job v1alpha1.LaunchJob
	if !o.jobs.Get(namespace, args[0], &job) {
		job = v1alpha1.LaunchJob{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.Version().String(), Kind: v1alpha1.Kind}}
		job.Name, job.Namespace, job.CreationTimestamp = args[0], namespace, metav1.NewTime(time.Now().Add(-3*time.Hour))
		job.Spec.Workers, job.Spec.Roles = new(int32(2)), []v1alpha1.Role{{Name: "worker"}}
		job.Spec.Roles[0].Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "repo/pi:1"}}
	}
	s := &job.Status
	for k, v := range fields {
		switch k {
		case "phase":
			s.Phase, s.Attempt = v, 1
			if v == v1alpha1.PhaseSucceeded || v == v1alpha1.PhaseFailed {
				s.Conditions = []metav1.Condition{{Type: v, Status: metav1.ConditionTrue, Reason: "Ended", LastTransitionTime: metav1.Now()}}
			}
		case "reason":
			s.Reason = v
		case "message":
			s.Message = v
		case "progress": // reported a minute ago
			s.Progress, s.TrainerStatus = v, &v1alpha1.TrainerStatus{LastUpdatedTime: metav1.Time{Time: time.Now().Add(-time.Minute)}}
		case "goodput":
			s.Goodput, s.Spent = v, []v1alpha1.TimeSpent{{Class: "productive", Seconds: 93}, {Class: "lost", Seconds: 7}}
		case "ready":
			s.Ready = v
		case "code":
			s.FirstFailure = &v1alpha1.FirstFailure{Pod: args[0] + "-worker-1", Message: "out of luck"}
			_, err := fmt.Sscan(v, &s.FirstFailure.ExitCode)
			ts.Check(err)
		case "ended":
			ago, err := time.ParseDuration(v)
			ts.Check(err)
			s.CompletionTime = &metav1.Time{Time: time.Now().Add(-ago)}
		case "framework":
			job.Spec.Framework = v
		case "workers", "procs":
			n := new(int32)
			_, err := fmt.Sscan(v, n)
			ts.Check(err)
			if k == "procs" {
				job.Spec.ProcsPerWorker = n
			} else {
				job.Spec.Workers = n
			}
		case "launcher":
			job.Spec.Launcher = &v1alpha1.Launcher{Template: job.Spec.Roles[0].Template}
		case "label":
			k, v, _ := strings.Cut(v, ":")
			job.Labels = map[string]string{k: v}
		}
	}
	if output := fields["output"]; output != "" {
		keepOutput(&job.Spec.Launcher.Template.Spec, output, fields["claim"])
	}
	o.jobs.Put(job)
}

// keepOutput makes a launcher write the output of ranks to files.
func keepOutput(spec *corev1.PodSpec, output, claim string) {
	spec.Containers = []corev1.Container{{Name: "main", Image: "repo/pi:1", Env: []corev1.EnvVar{{Name: names.EnvOutput, Value: output}}}}
	if claim != "" {
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "logs", MountPath: "/logs"}}
		spec.Volumes = []corev1.Volume{{Name: "logs", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
}

// hostile implements `hostile NAME`: it creates a failed job with control characters that would
// take over a terminal.
func (o *office) hostile(name string) {
	var job v1alpha1.LaunchJob
	if !o.jobs.Get("lab", name, &job) {
		job = v1alpha1.LaunchJob{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.Version().String(), Kind: v1alpha1.Kind}}
		job.Name, job.Namespace = name, "lab"
		job.Spec.Roles = []v1alpha1.Role{{Name: "worker"}}
	}
	job.Status = v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseFailed, Reason: "Bad", Message: "\x1b[2J\x1b[31mall is well\r\u202e"}
	job.Status.FirstFailure = &v1alpha1.FirstFailure{Pod: name + "-worker-0", ExitCode: 1, Message: "out of \x1b]0;luck\a"}
	job.Status.Replaced = []v1alpha1.Replaced{{Pod: name + "-worker-0", Reason: "\x1bc\nPhase: forged"}}
	job.Status.ExcludedNodes = []v1alpha1.ExcludedNode{{Node: "n3", Cause: "preflight\x1bc"}}
	job.Status.Conditions = []metav1.Condition{
		{Type: "Launched", Status: metav1.ConditionTrue, Reason: "x", Message: "\x1b[8mhidden"},
		{Type: v1alpha1.Failed, Status: metav1.ConditionTrue, Reason: "y"},
	}
	o.jobs.Put(&job)
}

// await implements `await NAME`: it waits until the job exists.
func (o *office) await(ts *testscript.TestScript, args []string) {
	until(ts, "job "+args[0], func() bool { return o.jobs.Get("lab", args[0], &v1alpha1.LaunchJob{}) })
}

// until waits until a condition is true. what names the condition in the error.
func until(ts *testscript.TestScript, what string, ok func() bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ts.Check(await.Until(ctx, 10*time.Millisecond, what, func() (bool, error) { return ok(), nil }))
}

// said implements `said FILE TEXT`: it waits until the file contains the text.
func said(ts *testscript.TestScript, args []string) {
	until(ts, fmt.Sprintf("%q in %s", args[1], args[0]), func() bool {
		text, _ := os.ReadFile(ts.MkAbs(args[0])) // the file may not exist yet
		return strings.Contains(string(text), args[1])
	})
}

// pod implements `pod JOB-ROLE[-N] STATE`. The job owns the pod if it exists already. STATE is Pending,
// Running, or an exit code. Stopping means that the main container has ended and a sidecar has not.
// Evicted means evicted before it started. Cleared means that the pod has ended, and its node has lost
// the log.
func (o *office) pod(ts *testscript.TestScript, args []string) {
	name, state := args[0], args[1]
	job, place, _ := strings.Cut(name, "-")
	role, index, _ := strings.Cut(place, "-")
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "main", Image: "repo/pi:1"}}}}
	if old := o.api.Pod("lab", name); old != nil {
		pod.UID = old.UID
	}
	pod.Name, pod.Namespace, pod.CreationTimestamp = name, "lab", metav1.NewTime(time.Now().Add(-2*time.Hour))
	pod.Labels = map[string]string{names.LabelJob: job, names.LabelPod: name, names.LabelRole: role}
	if role != names.RoleLauncher {
		pod.Labels[names.LabelIndex] = index
	}
	var owner v1alpha1.LaunchJob
	if o.jobs.Get("lab", job, &owner) {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&owner, v1alpha1.Version().WithKind(v1alpha1.Kind))}
	}
	status := corev1.ContainerStatus{Name: "main"}
	switch state {
	case "Pending":
		pod.Status.Phase = corev1.PodPending
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}
	case "Running":
		pod.Status.Phase = corev1.PodRunning
		status.State.Running = &corev1.ContainerStateRunning{}
	case "Stopping":
		pod.Status.Phase, pod.DeletionTimestamp = corev1.PodRunning, &metav1.Time{Time: time.Now()}
		status.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed"}
	case "Evicted":
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, state
	case "Cleared":
		pod.Status.Phase = corev1.PodSucceeded
		status.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed"}
		o.logs.Clear("lab", name, "main")
	default:
		end := &corev1.ContainerStateTerminated{Reason: "Completed"}
		_, err := fmt.Sscan(state, &end.ExitCode)
		ts.Check(err)
		pod.Status.Phase = corev1.PodSucceeded
		if end.ExitCode != 0 {
			pod.Status.Phase, end.Reason = corev1.PodFailed, "Error"
		}
		status.State.Terminated = end
	}
	if state != "Evicted" {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	}
	o.api.Set(pod)
	if status.State.Terminated != nil {
		o.logs.End("lab", name, "main")
	}
}

// print implements `print POD TEXT...`: it adds a line to the pod's log. \e is an escape character.
func (o *office) print(_ *testscript.TestScript, args []string) {
	o.logs.Write("lab", args[0], "main", time.Now(), strings.ReplaceAll(strings.Join(args[1:], " "), `\e`, "\x1b")+"\n")
}

// server implements `api stop`, `api start`, `api drop`, `api uninstall`, `api expire` and `api
// heal`. `api forbid PATH` and `api deny PATH` reject requests, the latter with a hostile message. `api
// withhold VERB...` makes the API server say that the user may not do this with LaunchJobs.
// `api asked URL` waits for a request that has this in its path and query; earlier commands of the
// script count, too. `api workers JOB N` checks the number of workers in the object.
func (o *office) server(ts *testscript.TestScript, args []string) {
	switch args[0] {
	case "stop":
		o.api.Stop()
	case "start":
		o.api.Start()
	case "drop":
		o.api.Drop()
	case "asked":
		until(ts, "a request for "+args[1], func() bool {
			return slices.ContainsFunc(o.api.Requests(), func(r fakekube.Request) bool { return strings.Contains(r.Path+"?"+r.Query, args[1]) })
		})
	case "uninstall": // without the CRD, an API server answers with plain text
		o.api.Fail(fakekube.Failure{Code: 404, Text: "404 page not found\n", Match: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/apis/muster.dev") }})
	case "expire": // all tokens expire
		o.api.Fail(fakekube.Failure{Code: 401})
	case "heal":
		o.api.Heal()
	case "forbid":
		o.api.Fail(fakekube.Failure{Code: 403, Message: "no right", Match: func(r *http.Request) bool { return strings.Contains(r.URL.Path, args[1]) }})
	case "deny":
		o.api.Fail(fakekube.Failure{Code: 403, Message: "\x1b[2Jno right", Match: func(r *http.Request) bool { return strings.Contains(r.URL.Path, args[1]) }})
	case "withhold": // the user lacks these verbs on launchjobs
		o.about.Deny(func(q fakekube.Question) bool {
			return q.Resource == "launchjobs" && q.Subresource == "" && slices.Contains(args[1:], q.Verb)
		})
	case "workers": // check the number of workers in the object
		var job v1alpha1.LaunchJob
		o.jobs.Get("lab", args[1], &job)
		text, err := json.Marshal(job.Spec.Workers)
		ts.Check(err)
		if string(text) != args[2] {
			ts.Fatalf("job %s has %s workers, want %s", args[1], text, args[2])
		}
	default:
		ts.Fatalf("unknown command: api %s", args[0])
	}
}
