package kueue

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/exec/names"
)

func noon() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

func roleOf(name string, count, first int, notes map[string]string) PodSet {
	t := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: notes}}
	t.Spec.Containers = []corev1.Container{{Name: "main", Image: "i", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}}}
	return PodSet{Name: name, Count: count, First: first, Template: t}
}

// request returns the request of a job with a launcher and so many workers.
func request(workers int) Request {
	return Request{
		Meta:    metav1.ObjectMeta{Name: "pi", Namespace: "hpc", Labels: map[string]string{names.LabelJob: "pi"}, OwnerReferences: []metav1.OwnerReference{{UID: "u-1", Controller: new(true)}}},
		Version: "v1beta2", Generation: 7, Queue: "gold", PodSets: []PodSet{roleOf("launcher", 1, -1, nil), roleOf("worker", workers, 0, nil)},
	}
}

func sliced(r Request) Request {
	r.Elastic, r.Annotations = true, map[string]string{jobElastic: "true"}
	return r
}

// made returns the Workload of a request, with conditions such as "Evicted True Preempted no room".
func made(t *testing.T, r Request, conditions ...string) *Workload {
	t.Helper()
	u, err := r.workload()
	require.NoError(t, err)
	u.Object["status"] = map[string]any{}
	for _, c := range conditions {
		var kind, status, reason string
		_, err := fmt.Sscanf(c, "%s %s %s", &kind, &status, &reason)
		require.NoError(t, err)
		set(u, kind, status == "True", reason, c[min(len(c), len(kind)+len(status)+len(reason)+3):], noon())
		if kind == quotaReserved && status == "True" {
			var list []any
			for _, p := range r.PodSets {
				list = append(list, map[string]any{"name": p.Name, "count": int64(p.Count)})
			}
			require.NoError(t, unstructured.SetNestedField(u.Object, map[string]any{"clusterQueue": "cq", "podSetAssignments": list}, "status", "admission"))
		}
	}
	w, err := Read(u)
	require.NoError(t, err)
	return w
}

const (
	has    = "QuotaReserved True QuotaReserved yes"
	may    = "Admitted True Admitted yes"
	lost   = "Evicted True Preempted for another"
	over   = "Finished True Succeeded done"
	passed = "Finished True WorkloadSliceReplaced replaced"
)

func TestDecide(t *testing.T) {
	next := func(t *testing.T, workers int, conditions ...string) *Workload {
		r := sliced(request(workers))
		r.Meta.Name = "pi.6"
		w := made(t, r, conditions...)
		w.Annotations[replaces], w.Annotations[sliceName] = "hpc/pi", "pi"
		w.object.SetAnnotations(w.Annotations)
		return w
	}
	type row struct {
		want       Request
		all        []*Workload
		alive      int
		step       Step
		of         string // the name of the step's object
		pods, keep bool
		reason     Reason
		limit      int // workers
	}
	prebuilt := request(3)
	prebuilt.Prebuilt = "pi"
	one := func(conditions ...string) []*Workload { return []*Workload{made(t, request(3), conditions...)} }
	two := func(n int, old, new []string) []*Workload {
		return []*Workload{next(t, n, new...), made(t, sliced(request(3)), old...)}
	}
	for name, r := range map[string]row{
		"nothing yet":                       {want: request(3), step: Create, of: "pi", reason: Waits},
		"pods without a Workload":           {want: request(3), alive: 2, reason: Evicted},
		"a Workload that is over":           {want: request(3), all: one(has, over), step: Delete, of: "pi", reason: Evicted},
		"the same, and pods":                {want: request(3), all: one(has, over), alive: 1, reason: Evicted},
		"no prebuilt Workload":              {want: prebuilt, reason: Missing},
		"a prebuilt Workload that waits":    {want: prebuilt, all: one(), reason: Waits},
		"waiting":                           {want: request(3), all: one(), reason: Waits},
		"waiting, and the job has changed":  {want: request(4), all: one(), step: Update, of: "pi", reason: Waits},
		"quota alone":                       {want: request(3), all: one(has), reason: Waits},
		"quota alone, the job has changed":  {want: request(4), all: one(has), reason: Waits},
		"admitted":                          {want: request(3), all: one(has, may), pods: true, keep: true, limit: 3},
		"admitted, and scaled up":           {want: request(5), all: one(has, may), pods: true, keep: true, limit: 3, reason: Fewer},
		"admitted, and scaled down":         {want: request(2), all: one(has, may), pods: true, keep: true, limit: 3},
		"evicted, with pods":                {want: request(3), all: one(has, may, lost), alive: 1, reason: Preempted},
		"evicted, without pods":             {want: request(3), all: one(has, may, lost), step: UpdateStatus, of: "pi", reason: Preempted},
		"queued again":                      {want: request(3), all: one("QuotaReserved False Pending no", lost), reason: Preempted},
		"queued again, the job has changed": {want: request(4), all: one("QuotaReserved False Pending no", lost), step: Update, of: "pi", reason: Preempted},

		"slice, scaled up":             {want: sliced(request(5)), all: one(has, may), step: Create, of: "pi.7", pods: true, keep: true, limit: 3, reason: Fewer},
		"slice, scaled down":           {want: sliced(request(2)), all: one(has, may), step: Update, of: "pi", pods: true, keep: true, limit: 3},
		"slice, evicted, scaled up":    {want: sliced(request(5)), all: one(has, may, lost), alive: 1, reason: Preempted},
		"next slice waits":             {want: sliced(request(5)), all: two(5, []string{has, may}, nil), pods: true, keep: true, limit: 3, reason: Fewer},
		"next slice, scaled further":   {want: sliced(request(6)), all: two(5, []string{has, may}, nil), step: Update, of: "pi.6", pods: true, keep: true, limit: 3, reason: Fewer},
		"next slice, scaled down":      {want: sliced(request(3)), all: two(5, []string{has, may}, nil), step: Delete, of: "pi.6", pods: true, keep: true, limit: 3},
		"next slice has the quota":     {want: sliced(request(5)), all: two(5, []string{has, may}, []string{has}), step: UpdateStatus, of: "pi", keep: true, limit: 3, reason: Fewer},
		"first slice evicted":          {want: sliced(request(5)), all: two(5, []string{has, may, lost}, nil), alive: 1, reason: Preempted},
		"first slice evicted, no pods": {want: sliced(request(5)), all: two(5, []string{has, may, lost}, nil), step: UpdateStatus, of: "pi", reason: Preempted},
		"between two slices":           {want: sliced(request(5)), all: two(5, []string{has, may, passed}, []string{has}), keep: true, limit: 3, reason: Waits},
		"next slice admitted":          {want: sliced(request(5)), all: two(5, []string{has, may, passed}, []string{has, may}), pods: true, keep: true, limit: 5},
		"next slice evicted":           {want: sliced(request(5)), all: two(5, []string{has, may, passed}, []string{has, may, lost}), alive: 1, reason: Preempted},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Decide(View{Now: noon(), All: r.all, Want: r.want, Alive: r.alive})
			require.NoError(t, err)
			of := ""
			if d.Object != nil {
				of = d.Object.GetName()
			}
			require.Equal(t, row{r.want, r.all, r.alive, r.step, r.of, r.pods, r.keep, r.reason, r.limit},
				row{r.want, r.all, r.alive, d.Step, of, d.Pods, d.Keep, d.Reason, d.Limit["worker"]}, d.Message)
			require.Equal(t, d.Reason == 0, d.Message == "")
			require.False(t, d.Pods && !d.Keep)
			if d.Pods {
				require.True(t, d.Current.Admitted(), "no pods without an admission")
			}
		})
	}
}

// TestPrebuiltOfAnotherJob checks that a prebuilt Workload with other pods is ended, as Kueue does it for its own jobs.
func TestPrebuiltOfAnotherJob(t *testing.T) {
	want := request(4)
	want.Prebuilt = "pi"
	d, err := Decide(View{Now: noon(), All: []*Workload{made(t, request(3))}, Want: want})
	require.NoError(t, err)
	require.Equal(t, Missing, d.Reason)
	w, err := Read(d.Object)
	require.NoError(t, err)
	require.Equal(t, "OutOfSync", w.condition(finished).Reason)
}

// TestNobodyActivates checks that a change of a deactivated Workload leaves it so, and that it outlives a suspend.
func TestNobodyActivates(t *testing.T) {
	w := made(t, request(3), "QuotaReserved False Pending no", "Evicted True Deactivated The workload is deactivated")
	require.NoError(t, unstructured.SetNestedField(w.object.Object, false, "spec", "active"))
	w, err := Read(w.object)
	require.NoError(t, err)
	d, err := Decide(View{Now: noon(), All: []*Workload{w}, Want: request(4)})
	require.NoError(t, err)
	require.Equal(t, Update, d.Step)
	active, found, err := unstructured.NestedBool(d.Object.Object, "spec", "active")
	require.Equal(t, []any{false, true, nil}, []any{active, found, err})
	require.Contains(t, d.Message, "The workload is deactivated; an administrator sets spec.active")
	require.Equal(t, Nothing, Leave(w, noon()).Step)
	w = made(t, request(3), has, may, lost)
	require.Equal(t, Delete, Leave(w, noon()).Step)
}

// TestRequeue checks what Kueue's own jobs write when they have stopped after an eviction.
func TestRequeue(t *testing.T) {
	for reason, again := range map[string]string{"Preempted": "True", "NodeFailures": "True", "PodsReadyTimeout": "False", "Deactivated": "False"} {
		w := made(t, request(3), has, may, "Evicted True "+reason+" words")
		u := w.requeue(noon().Add(90 * time.Second))
		next, err := Read(u)
		require.NoError(t, err)
		require.Nil(t, next.Status.Admission)
		require.Equal(t, again+" "+reason+" words", says(next, requeued))
		require.Equal(t, "False Pending words", says(next, quotaReserved))
		require.Equal(t, "False NoReservation The workload has no reservation", says(next, admitted))
		require.Equal(t, "True "+reason+" words", says(next, evicted), "Kueue resets it with the next quota")
		ran, _, err := unstructured.NestedInt64(u.Object, "status", "accumulatedPastExecutionTimeSeconds")
		require.NoError(t, err)
		require.EqualValues(t, 90, ran)
	}
}

func says(w *Workload, kind string) string {
	c := w.condition(kind)
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
}

// TestPodsReady checks the reasons by which Kueue tells a slow start from a later failure.
func TestPodsReady(t *testing.T) {
	for name, row := range map[string]struct {
		conditions []string
		ready      bool
		want       string
	}{
		"not admitted":              {nil, false, ""},
		"admitted":                  {[]string{has, may}, false, "False WaitForStart"},
		"ready":                     {[]string{has, may, "PodsReady False WaitForStart x"}, true, "True Started"},
		"ready, then not":           {[]string{has, may, "PodsReady True Started x"}, false, "False WaitForRecovery"},
		"still not":                 {[]string{has, may, "PodsReady False WaitForRecovery x"}, false, "False WaitForRecovery"},
		"ready again":               {[]string{has, may, "PodsReady False WaitForRecovery x"}, true, "True Recovered"},
		"ready for the second time": {[]string{has, may, "PodsReady True Recovered x"}, true, "True Recovered"},
		"evicted":                   {[]string{has, may, lost, "PodsReady True Started x"}, true, "False WaitForStart"},
	} {
		t.Run(name, func(t *testing.T) {
			w := made(t, request(3), row.conditions...)
			next := w.Follow(Progress{Ready: row.ready}, noon())
			if row.want == "" {
				require.Nil(t, next)
				return
			}
			w, err := Read(next)
			require.NoError(t, err)
			c := w.condition(podsReady)
			require.Equal(t, row.want, fmt.Sprintf("%s %s", c.Status, c.Reason))
			require.Nil(t, w.Follow(Progress{Ready: row.ready}, noon()), "it is written once")
		})
	}
}

// TestReclaim checks that the numbers of ended pods never fall while the job is admitted, which Kueue would reject.
func TestReclaim(t *testing.T) {
	w := made(t, request(3), has, may, "PodsReady True Started All")
	for _, step := range []struct{ succeeded, want int }{{0, 0}, {2, 2}, {1, 2}, {9, 3}} {
		if next := w.Follow(Progress{Ready: true, Succeeded: map[string]int{"worker": step.succeeded}}, noon()); next != nil {
			var err error
			w, err = Read(next)
			require.NoError(t, err)
		}
		have := 0
		for _, p := range w.Status.ReclaimablePods {
			require.Equal(t, "worker", p.Name)
			have = int(p.Count)
		}
		require.Equal(t, step.want, have)
	}
}

// TestGivenBack checks how many pods an elastic job without slices gives back and may have. Reclaimed pods are
// subtracted from those asked for, also if Kueue has admitted fewer.
func TestGivenBack(t *testing.T) {
	scalable := func(workers int) Request {
		r := request(workers)
		r.PodSets[1].Min = 1
		return r
	}
	for name, row := range map[string]struct {
		granted, want, unwanted, limit int
		message                        string
	}{
		"as many":                      {4, 4, 0, 4, ""},
		"scaled down":                  {4, 3, 1, 3, ""},
		"scaled up":                    {4, 5, 0, 4, "Kueue has admitted 4 pods of the role worker, and the job wants 5"},
		"partial":                      {2, 4, 0, 2, "Kueue has admitted 2 of 4 pods of the role worker (partial admission)"},
		"partial, scaled down to it":   {2, 2, 0, 2, ""},
		"partial, scaled down further": {2, 1, 3, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := made(t, scalable(4), has, may, "PodsReady True Started All")
			w.Status.Admission.PodSetAssignments[1].Count = new(int32(row.granted))
			unwanted := w.Unwanted(scalable(row.want))
			require.Equal(t, row.unwanted, unwanted["worker"])
			if next := w.Follow(Progress{Unwanted: unwanted}, noon()); next != nil {
				reclaimed, err := Read(next)
				require.NoError(t, err)
				w.Status.ReclaimablePods = reclaimed.Status.ReclaimablePods
			}
			require.Equal(t, row.unwanted, w.reclaimed()["worker"])
			d, err := Decide(View{Now: noon(), All: []*Workload{w}, Want: scalable(row.want)})
			require.NoError(t, err)
			require.Equal(t, row.limit, d.Limit["worker"])
			require.Contains(t, d.Message, row.message)
			require.Equal(t, row.message == "", d.Message == "")
			if row.unwanted > 0 {
				d, err = Decide(View{Now: noon(), All: []*Workload{w}, Want: scalable(4)})
				require.NoError(t, err)
				require.Equal(t, row.limit, d.Limit["worker"], "it is not given back twice")
				require.Contains(t, d.Message, fmt.Sprintf("Kueue has admitted %d pods of the role worker, and the job wants 4", row.limit))
			}
		})
	}
	w := made(t, sliced(scalable(4)), has, may)
	require.Empty(t, w.Unwanted(sliced(scalable(2))))
}

func TestPriority(t *testing.T) {
	for version, fields := range map[string]string{
		"v1beta1": `{"priority":5,"priorityClassName":"high","priorityClassSource":"scheduling.k8s.io/priorityclass"}`,
		"v1beta2": `{"priority":5,"priorityClassRef":{"group":"scheduling.k8s.io","kind":"PriorityClass","name":"high"}}`,
	} {
		r := request(1)
		r.Version, r.Priority, r.PodSets, r.Queue = version, &Priority{Class: "high", Value: 5}, nil, ""
		spec, err := r.spec()
		require.NoError(t, err)
		delete(spec, "podSets")
		text, err := json.Marshal(spec)
		require.NoError(t, err)
		require.JSONEq(t, fields, string(text))
	}
	r := request(1)
	r.Priority = &Priority{Class: "team", OfKueue: true}
	spec, err := r.spec()
	require.NoError(t, err)
	require.Equal(t, map[string]any{"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "team"}, spec["priorityClassRef"])
}
