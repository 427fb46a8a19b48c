package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestEndBeforeTheDeadline checks that a job which ended in time keeps its end if the controller sees it
// only after the deadline, which was 5 minutes ago.
func TestEndBeforeTheDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		job     string
		backoff int32
		ends    map[string]time.Duration // how long ago, by pod
		code    int32
		want    string
	}{
		"the launcher succeeded in time":               {job: "mpi", ends: map[string]time.Duration{"pi-launcher": 15 * time.Minute}, want: reasonCompleted},
		"the launcher succeeded too late":              {job: "mpi", ends: map[string]time.Duration{"pi-launcher": time.Minute}, want: reasonDeadline},
		"the launcher failed in time":                  {job: "mpi", ends: map[string]time.Duration{"pi-launcher": 15 * time.Minute}, code: 3, want: reasonExited},
		"the launcher failed, another attempt is left": {job: "mpi", backoff: 1, ends: map[string]time.Duration{"pi-launcher": 15 * time.Minute}, code: 3, want: reasonDeadline},
		"the launcher runs":                            {job: "mpi", want: reasonDeadline},
		"members succeeded in time":                    {job: "join", ends: map[string]time.Duration{"net-master-0": 16 * time.Minute, "net-worker-0": 15 * time.Minute, "net-worker-1": 15 * time.Minute}, want: reasonCompleted},
		"one member succeeded too late":                {job: "join", ends: map[string]time.Duration{"net-master-0": 16 * time.Minute, "net-worker-0": time.Minute, "net-worker-1": 15 * time.Minute}, want: reasonDeadline},
		"one member has lost the others":               {job: "join", ends: map[string]time.Duration{"net-master-0": 16 * time.Minute, "net-worker-0": 15 * time.Minute}, want: reasonCompleted},
		"one member is about to end":                   {job: "join", ends: map[string]time.Duration{"net-master-0": 16 * time.Second, "net-worker-0": 15 * time.Second}, want: reasonDeadline},
		"all members run":                              {job: "join", want: reasonDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, tc.job)
			job.Status.StartTime = &metav1.Time{Time: now().Add(-65 * time.Minute)}
			job.Spec.RunPolicy = &v1alpha1.RunPolicy{ActiveDeadlineSeconds: new(int64(3600)), BackoffLimit: tc.backoff}
			var pods []*corev1.Pod
			for _, s := range layout(job) {
				pod := aPod(job, s.name)
				if ago, ok := tc.ends[s.name]; ok {
					ended(tc.code, ago, "")(pod)
				}
				pods = append(pods, pod)
			}
			require.Equal(t, tc.want, look(job, pods...).verdict)
		})
	}
}
