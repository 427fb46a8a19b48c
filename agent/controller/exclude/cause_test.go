package exclude_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/controller/exclude"
	"github.com/musterhq/muster/exec/names"
)

type change func(*corev1.Pod)

func disrupted(reason string) change {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason})
	}
}

func reason(reason string) change { return func(p *corev1.Pod) { p.Status.Reason = reason } }

func silent(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse},
		corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }

func unhealthy(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResourcesStatus: []corev1.ResourceStatus{
		{Name: "nvidia.com/gpu", Resources: []corev1.ResourceHealth{{ResourceID: "gpu-3", Health: corev1.ResourceHealthStatusUnhealthy}}}}}}
}

func unscheduled(p *corev1.Pod) { p.Spec.NodeName = "" }

// TestCause checks that only failures of the node have a cause, never what the program or an
// administrator does.
func TestCause(t *testing.T) {
	gaveUp := func(why string) string { return "agent worker: " + names.ReplacedWords(why) + "\n" }
	for name, row := range map[string]struct {
		code  int32
		words string
		pod   []change
		want  string
	}{
		"the node does not answer":            {0, "", []change{disrupted("DeletionByTaintManager"), silent, deleted}, "lost"},
		"the node is gone":                    {0, "", []change{reason("NodeLost")}, "lost"},
		"nobody confirms a deletion":          {0, "", []change{silent, deleted}, "lost"},
		"a failed check":                      {names.ExitReplaced, gaveUp(names.WhyPreflight), nil, "preflight"},
		"a failed check and a broken device":  {names.ExitReplaced, gaveUp(names.WhyPreflight), []change{unhealthy}, "preflight"},
		"a device error in the output":        {names.ExitReplaced, gaveUp(names.WhyDevice), nil, "device"},
		"a broken device":                     {1, "", []change{unhealthy}, "device"},
		"a broken device, by a rule":          {names.ExitReplaced, gaveUp(""), []change{unhealthy}, "device"},
		"a taint for maintenance":             {0, "", []change{disrupted("DeletionByTaintManager"), deleted}, ""},
		"a kubelet that is slow to delete":    {0, "", []change{deleted}, ""},
		"a drain":                             {143, "", []change{disrupted("EvictionByEvictionAPI"), deleted}, ""},
		"a drain of a node that is down":      {0, "", []change{disrupted("EvictionByEvictionAPI"), silent, deleted}, ""},
		"a preemption":                        {143, "", []change{disrupted("PreemptionByScheduler"), deleted}, ""},
		"a shutdown of the node":              {143, "", []change{reason("NodeShutdown")}, ""},
		"a node without memory":               {137, "", []change{reason("Evicted"), disrupted("TerminationByKubelet")}, ""},
		"the program":                         {1, "Traceback", nil, ""},
		"the program ran out of memory":       {137, "OOMKilled", nil, ""},
		"a rule for the program":              {names.ExitReplaced, gaveUp(""), nil, ""},
		"a program that prints our words":     {1, gaveUp(names.WhyPreflight), nil, ""},
		"a broken device without consequence": {0, "", []change{unhealthy}, ""},
		"a pod that was on no node":           {0, "", []change{unscheduled, silent, deleted}, ""},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}}
		for _, f := range row.pod {
			f(pod)
		}
		require.Equal(t, row.want, exclude.End{Pod: pod, Code: row.code, Words: row.words}.Cause(), name)
	}
}
