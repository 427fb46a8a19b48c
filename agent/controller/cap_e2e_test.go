//go:build e2e

package controller

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestTheCRDCapsAJob checks that all roles together have at most 10000 workers.
func TestTheCRDCapsAJob(t *testing.T) {
	c, _, key := newWorld(t)
	for name, replicas := range map[string][]int32{"at the cap": {2000, 2000, 2000, 4000}, "one above the cap": {2000, 2000, 2000, 4001}, "eight roles at the cap": {10000, 10000, 10000, 10000, 10000, 10000, 10000, 10000}} {
		t.Run(name, func(t *testing.T) {
			job := kindsOfJob[1].job(key)
			job.Spec.Workers = nil
			template, sum := job.Spec.Roles[0].Template, int32(0)
			job.Spec.Roles = nil
			for i, n := range replicas {
				job.Spec.Roles = append(job.Spec.Roles, v1alpha1.Role{Name: fmt.Sprintf("r%d", i), Replicas: &n, Template: template})
				sum += n
			}
			err := c.Create(t.Context(), job, client.DryRunAll)
			if sum <= 10000 {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsInvalid(err))
			require.ErrorContains(t, err, "too many workers: workers, spares and replicas of all roles add up to more than 10000")
		})
	}
}
