package serve

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

// step is an event of an object or of its LaunchJob.
type step struct {
	what string
	do   func(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, roles []string)
}

func suspend(yes bool) func(*unstructured.Unstructured, *v1alpha1.LaunchJobStatus, []string) {
	return func(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, _ []string) {
		_ = unstructured.SetNestedField(o.Object, yes, "spec", "runPolicy", "suspend")
		*j = v1alpha1.LaunchJobStatus{}
	}
}

func runs(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, roles []string) {
	*j = v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseRunning}
	for _, r := range roles {
		j.Roles = append(j.Roles, role(r, 1, 0, 0))
	}
}

// loses removes the pod of the last role.
func loses(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, roles []string) {
	runs(o, j, roles)
	j.Phase, j.Message = v1alpha1.PhaseRestarting, "pi-worker-0 was evicted"
	j.Roles[len(j.Roles)-1] = v1alpha1.RoleStatus{Name: roles[len(roles)-1], Desired: 1}
}

// succeeds ends the pod of the first role with success. The pods of other roles still run.
func succeeds(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, roles []string) {
	runs(o, j, roles)
	end := at(100)
	j.Phase, j.CompletionTime = v1alpha1.PhaseSucceeded, &end
	j.Roles[0] = role(roles[0], 0, 1, 0)
}

func fails(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, roles []string) {
	runs(o, j, roles)
	end := at(100)
	j.Phase, j.CompletionTime, j.Message = v1alpha1.PhaseFailed, &end, "rank 1 on pi-worker-0 ended with 3"
	j.Roles[len(j.Roles)-1] = role(roles[len(roles)-1], 0, 0, 1)
}

func late(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, roles []string) {
	fails(o, j, roles)
	j.Reason = "DeadlineExceeded"
}

func waits(o *unstructured.Unstructured, j *v1alpha1.LaunchJobStatus, roles []string) {
	*j = v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseWaiting}
}

// stories returns the events of jobs, in order.
func stories() map[string][]step {
	return map[string][]step{
		"1 to its end":        {{"made", waits}, {"runs", runs}, {"loses a pod", loses}, {"runs again", runs}, {"succeeds", succeeds}, {"fails afterwards", fails}},
		"2 fails":             {{"made", waits}, {"runs", runs}, {"fails", fails}},
		"3 too long":          {{"runs", runs}, {"its deadline passes", late}},
		"4 suspended":         {{"made suspended", suspend(true)}, {"resumed", suspend(false)}, {"runs", runs}, {"suspended", suspend(true)}, {"resumed", suspend(false)}, {"runs", runs}, {"succeeds", succeeds}},
		"5 over before it is": {{"succeeds", succeeds}},
	}
}

// cases returns the kinds, with replicas for each variant of their operators' statuses.
func cases() map[string]struct {
	kind     string
	version  string
	replicas map[string]int
} {
	type of = struct {
		kind     string
		version  string
		replicas map[string]int
	}
	return map[string]of{
		"pytorchjob":         {"PyTorchJob", "v1", map[string]int{"Master": 1, "Worker": 1}},
		"pytorchjob-workers": {"PyTorchJob", "v1", map[string]int{"Worker": 1}},
		"tfjob":              {"TFJob", "v1", map[string]int{"Ps": 1, "Chief": 1, "worker": 1}},
		"tfjob-workers":      {"TFJob", "v1", map[string]int{"Worker": 1}},
		"xgboostjob":         {"XGBoostJob", "v1", map[string]int{"Master": 1, "Worker": 1}},
		"paddlejob":          {"PaddleJob", "v1", map[string]int{"Worker": 1}},
		"jaxjob":             {"JAXJob", "v1", map[string]int{"Worker": 1}},
		"mxjob":              {"MXJob", "v1", map[string]int{"Scheduler": 1, "Server": 1, "Worker": 1}},
		"mpijob-v1":          {"MPIJob", "v1", map[string]int{"Launcher": 1, "Worker": 1}},
		"mpijob-v2beta1":     {"MPIJob", "v2beta1", map[string]int{"Launcher": 1, "Worker": 1}},
	}
}

// TestStatuses compares the status of each kind, after each event of each story, with a golden
// file.
func TestStatuses(t *testing.T) {
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) {
			k := aKind(t, c.kind, c.version)
			var out strings.Builder
			for _, story := range []string{"1 to its end", "2 fails", "3 too long", "4 suspended", "5 over before it is"} {
				o := anObject(t, k, c.replicas)
				var roles []string
				for _, r := range k.replicas(o) {
					roles = append(roles, r.role())
				}
				var s status
				var j v1alpha1.LaunchJobStatus
				for i, step := range stories()[story] {
					step.do(o, &j, roles)
					s = newStatus(k, o, s, j, at(i))
					require.Equal(t, s, newStatus(k, o, s, j, at(i+1)), "%s, %s: the status changed without a reason", story, step.what)
					fmt.Fprintf(&out, "--- # %s: %s\n%s", story[2:], step.what, text(t, s))
				}
			}
			golden := "testdata/" + name + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), out.String())
		})
	}
}

// TestStatusGoesThroughAnObject checks that a status that is written to an object can be read back.
func TestStatusGoesThroughAnObject(t *testing.T) {
	k := aKind(t, "PyTorchJob", "v1")
	o := anObject(t, k, map[string]int{"Master": 1})
	var j v1alpha1.LaunchJobStatus
	runs(o, &j, []string{"master"})
	s := newStatus(k, o, status{}, j, at(1))
	require.NoError(t, s.write(o))
	back, err := readStatus(o)
	require.NoError(t, err)
	require.Equal(t, text(t, s), text(t, back))
	require.Equal(t, s, newStatus(k, o, s, j, at(5)))

	require.NoError(t, unstructured.SetNestedField(o.Object, "nonsense", "status", "conditions"))
	_, err = readStatus(o)
	require.ErrorContains(t, err, "read the status of pi: ")
}
