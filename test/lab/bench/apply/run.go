//go:build linux

package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/kube"
)

//go:embed testdata
var testdata embed.FS

// mpirun is the launcher's command, in YAML.
const mpirun = `[mpirun, --allow-run-as-root, --bind-to, none, sh, -c, 'echo "rank $OMPI_COMM_WORLD_RANK"']`

var mpiJobs = schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}

// contender is an operator and the object that it runs.
type contender struct {
	key, name string
	file      string // in testdata
	policy    string // launcherCreationPolicy of an MPIJob
	program   string // the operator's user agent in the audit log
}

func contenders() []contender {
	return []contender{
		{key: "muster", name: "LaunchJob", file: "launchjob.yaml", program: "muster-controller"},
		{key: "mpi", name: "mpi-operator v0.6.0", file: "mpijob.yaml", policy: "AtStartup", program: "mpi-operator"},
		{key: "wait", name: "mpi-operator v0.6.0, WaitForWorkersReady", file: "mpijob.yaml", policy: "WaitForWorkersReady", program: "mpi-operator"},
	}
}

// result is what was observed of one job. Times are seconds from apply.
type result struct {
	Contender                  string
	Workers                    int
	FirstLine, LastLine, Ended float64
	Restarts                   int // of the launcher
	Requests                   int
	Objects                    int // created for the job, including pods
	Asked                      map[string]int
	Made                       []string
}

// all runs all jobs; contenders take turns. The first job of each contender has two workers and is a warm-up.
func (w *world) all(ctx context.Context, o options) (results []result, err error) {
	for round := range o.rounds + 1 {
		for _, n := range o.workers {
			if round == 0 {
				n = 2
			}
			for _, c := range contenders() {
				r, err := w.run(ctx, c, n)
				if err != nil {
					return nil, fmt.Errorf("%s, %d workers: %w", c.name, n, err)
				}
				w.Say("round %d: %s, %d workers: first line %.2f s, last %.2f s, Succeeded %.2f s, %d restarts, %d requests, %d objects",
					round, c.name, n, r.FirstLine, r.LastLine, r.Ended, r.Restarts, r.Requests, r.Objects)
				if round > 0 {
					results = append(results, r)
				}
			}
			if round == 0 {
				break
			}
		}
	}
	return results, nil
}

// object returns the contender's object from its template.
func (c contender) object(image, name string, n int) (*unstructured.Unstructured, error) {
	text, err := testdata.ReadFile("testdata/" + c.file)
	if err != nil {
		return nil, err
	}
	filled := strings.NewReplacer("NAME", name, "WORKERS", fmt.Sprint(n), "IMAGE", image, "POLICY", c.policy, "MPIRUN", mpirun).Replace(string(text))
	o := &unstructured.Unstructured{}
	err = yaml.Unmarshal([]byte(filled), &o.Object)
	o.SetNamespace(space)
	return o, err
}

// run applies one job, waits for its end, and deletes it.
func (w *world) run(ctx context.Context, c contender, n int) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Minute)
	defer cancel()
	w.jobs++
	name := fmt.Sprintf("%s-%d", c.key, w.jobs)
	r = result{Contender: c.key, Workers: n}
	job, err := c.object(w.image, name, n)
	if err != nil {
		return r, err
	}
	before, err := listObjects(ctx)
	if err != nil {
		return r, err
	}
	seen, err := w.Follow(ctx, space, mpiJobs)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, seen.Close()) }()
	applied := time.Now()
	if err := w.Client.Create(ctx, job); err != nil {
		return r, fmt.Errorf("apply: %w", err)
	}
	if err := seen.Until(ctx, "the job's end", func() bool { return seen.InPhase("Succeeded")+seen.InPhase("Failed") > 0 }); err != nil {
		return r, errors.Join(err, failureDetails(ctx))
	}
	if seen.InPhase("Succeeded") != 1 {
		return r, errors.Join(errors.New("the job failed"), failureDetails(ctx))
	}
	r.Ended = seen.Phases[measure.Phase{Job: name, Name: "Succeeded"}].Sub(applied).Seconds()
	if err := w.lines(ctx, &r, applied); err != nil {
		return r, err
	}
	if err := w.count(ctx, c, &r, before, applied); err != nil {
		return r, err
	}
	if c.key == "mpi" && w.versions == nil { // its workers are still running
		if w.versions, err = measure.Versions(ctx, space, name+"-worker-0", "mpirun --version | head -n 1; /muster/agent version; /usr/sbin/sshd -V 2>&1"); err != nil {
			return r, err
		}
	}
	return r, w.remove(ctx, job)
}

// lines finds the launcher's pod that succeeded, and reads the ranks' lines from its log.
func (w *world) lines(ctx context.Context, r *result, applied time.Time) error {
	var pods corev1.PodList
	if err := w.Client.List(ctx, &pods, client.InNamespace(space)); err != nil {
		return err
	}
	workers, launchers, done := 0, 0, ""
	for _, p := range pods.Items {
		if !strings.Contains(p.Name, "-launcher") {
			workers++
			continue
		}
		launchers++
		for _, c := range p.Status.ContainerStatuses {
			r.Restarts += int(c.RestartCount)
			if end := c.State.Terminated; end != nil && end.ExitCode == 0 { // the pod's phase changes later
				done = p.Name
			}
		}
	}
	if workers != r.Workers || done == "" {
		return fmt.Errorf("found %d workers and %d launchers (succeeded: %q)", workers, launchers, done)
	}
	r.Restarts += launchers - 1
	log, err := measure.Lines(ctx, space, done)
	if err != nil {
		return err
	}
	var ranks []time.Time
	for _, l := range log {
		if strings.HasPrefix(l.Text, "rank ") {
			ranks = append(ranks, l.At)
		}
	}
	if len(ranks) != r.Workers {
		return fmt.Errorf("found lines of %d ranks, not %d, in:\n%v", len(ranks), r.Workers, log)
	}
	r.FirstLine = slices.MinFunc(ranks, time.Time.Compare).Sub(applied).Seconds()
	r.LastLine = slices.MaxFunc(ranks, time.Time.Compare).Sub(applied).Seconds()
	return nil
}

// count counts the objects that were created for the job, and the requests.
func (w *world) count(ctx context.Context, c contender, r *result, before []string, applied time.Time) error {
	now, err := listObjects(ctx)
	if err != nil {
		return err
	}
	for _, object := range now {
		if !slices.Contains(before, object) {
			r.Made = append(r.Made, object)
		}
	}
	r.Objects = len(r.Made)
	all, err := audit.Since(w.Audit, applied)
	if err != nil {
		return err
	}
	asked := audit.Of(all, c.program, space)
	if len(asked) == 0 {
		return fmt.Errorf("the audit log has no request by %s", c.program)
	}
	for _, q := range all {
		if strings.HasPrefix(q.User, "system:serviceaccount:"+space+":") {
			asked = append(asked, q)
		}
	}
	r.Requests, r.Asked = len(asked), audit.Count(asked)
	return nil
}

// listObjects lists the objects in the namespace, except the jobs themselves,
// events, and the objects that Kubernetes keeps for a Service.
func listObjects(ctx context.Context) ([]string, error) {
	text, err := kube.Kubectl(ctx, space, nil, "get", "pods,services,configmaps,secrets,serviceaccounts,roles,rolebindings,jobs.batch", "-o", "name")
	return strings.Fields(text), err
}

// failureDetails returns the pods and events of a job that failed, as an error.
func failureDetails(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	pods, err := kube.Kubectl(ctx, space, nil, "get", "pods", "-o", "wide")
	events, err2 := kube.Kubectl(ctx, space, nil, "get", "events", "--sort-by=.lastTimestamp")
	return errors.Join(fmt.Errorf("%s\n%s", pods, events), err, err2)
}

// remove deletes a job and waits until its pods are gone.
func (w *world) remove(ctx context.Context, job *unstructured.Unstructured) error {
	if err := w.Client.Delete(ctx, job); err != nil {
		return err
	}
	return w.Await(ctx, 2*time.Minute, "the job's pods to be removed", func() (bool, error) {
		left, err := kube.Kubectl(ctx, space, nil, "get", "pods,jobs.batch", "-o", "name")
		return err == nil && left == "", err
	})
}
