package doctor

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/check"
)

const (
	// leaseName and home are the name of the controller's lease, and the namespace where install.yaml
	// and the chart put the controller.
	leaseName = "muster-controller"
	home      = "muster-system"
	// renewal is twice the time in which a leader renews its lease (controller-runtime's 2 s, and as
	// much for a slow machine).
	renewal = 4 * time.Second
)

// lease is a Lease of coordination.k8s.io/v1, as far as we need it.
type lease struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		HolderIdentity       string            `json:"holderIdentity"`
		LeaseDurationSeconds int32             `json:"leaseDurationSeconds"`
		RenewTime            *metav1.MicroTime `json:"renewTime"`
	} `json:"spec"`
}

// controller looks for a controller: by its lease in all namespaces, or in the usual one, or by its
// Deployment. subject is a job that a controller should have seen; nil: none.
func (d *doctor) controller(ctx context.Context, subject *v1alpha1.LaunchJob) check.Controller {
	c := check.Controller{Namespace: home}
	if subject != nil && subject.Status.Phase == "" {
		c.Unseen, c.UnseenFor = subject.Name, time.Since(subject.CreationTimestamp.Time)
	}
	found, err := d.lease(ctx, &c)
	if found != nil {
		d.judge(ctx, found, &c)
		return c
	}
	var deployment struct {
		Status struct {
			AvailableReplicas int `json:"availableReplicas"`
		} `json:"status"`
	}
	derr := d.api.Read(ctx, "/apis/apps/v1/namespaces/"+home+"/deployments/"+leaseName, nil, &deployment)
	switch {
	case derr == nil:
		c.Deployed, c.Available = true, deployment.Status.AvailableReplicas
	case err != nil:
		c.Error = plain(err)
	case !apierrors.IsNotFound(derr):
		c.Error = plain(derr)
	}
	return c
}

// lease finds the lease. It returns nil without an error if there is none where it could look.
func (d *doctor) lease(ctx context.Context, c *check.Controller) (*lease, error) {
	var all struct{ Items []lease }
	err := d.api.Read(ctx, "/apis/coordination.k8s.io/v1/leases", map[string]string{"fieldSelector": "metadata.name=" + leaseName}, &all)
	if err == nil {
		c.Everywhere = true
		if len(all.Items) == 0 {
			return nil, nil
		}
		newest := &all.Items[0]
		for i := range all.Items {
			if all.Items[i].Spec.RenewTime != nil && (newest.Spec.RenewTime == nil || newest.Spec.RenewTime.Before(all.Items[i].Spec.RenewTime)) {
				newest = &all.Items[i]
			}
		}
		return newest, nil
	}
	var one lease
	err = d.api.Read(ctx, leasePath(home), nil, &one)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &one, nil
}

func leasePath(namespace string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases/" + leaseName
}

// judge finds out whether somebody renews the lease. The clock of this machine may differ from the
// cluster's, so a lease that looks old is read again.
func (d *doctor) judge(ctx context.Context, l *lease, c *check.Controller) {
	c.Leased, c.Namespace, c.Holder = true, l.Metadata.Namespace, l.Spec.HolderIdentity
	if c.Holder == "" || l.Spec.RenewTime == nil {
		return
	}
	age := time.Since(l.Spec.RenewTime.Time)
	if age > -renewal && age < time.Duration(l.Spec.LeaseDurationSeconds)*time.Second {
		return
	}
	t := time.NewTimer(d.renewal)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	var again lease
	err := d.api.Read(ctx, leasePath(c.Namespace), nil, &again)
	if err == nil && again.Spec.RenewTime != nil && l.Spec.RenewTime.Before(again.Spec.RenewTime) {
		return
	}
	c.Stale = max(age, d.renewal)
}
