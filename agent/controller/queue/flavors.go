package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/controller/kueue"
)

// Flavors reads the ResourceFlavors of new pods, each given by its role, and adds them to the line's places. It looks
// for templates of the roles that contradict the admission.
func (c Client) Flavors(ctx context.Context, l Line, pods []string, templates map[string]*corev1.PodTemplateSpec) error {
	read := map[string]*unstructured.Unstructured{}
	for _, role := range pods {
		p, found := l.Places[role]
		if !found {
			return &Obstacle{kueue.Waits, fmt.Sprintf("Workload %s has no admission for the role %s: suspend the job and resume it", l.Current.Name, role)}
		}
		for _, name := range p.Flavors() {
			if read[name] != nil {
				continue
			}
			u, err := c.flavor(ctx, name, l.Want.Version)
			if err != nil {
				return err
			}
			read[name] = u
		}
	}
	for _, role := range slices.Sorted(maps.Keys(l.Places)) {
		p := l.Places[role]
		for _, name := range p.Flavors() {
			if read[name] == nil {
				continue
			}
			if err := p.Flavor(read[name]); err != nil {
				return err
			}
		}
		l.Places[role] = p
		if templates[role] == nil || len(read) == 0 {
			continue
		}
		if why := p.Conflict(templates[role]); why != "" {
			return &Obstacle{kueue.Rejected, fmt.Sprintf("role %s: %s: suspend the job and remove it from the template", role, why)}
		}
	}
	return nil
}

// flavor reads a ResourceFlavor.
func (c Client) flavor(ctx context.Context, name, version string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(kueue.Group + "/" + version)
	u.SetKind("ResourceFlavor")
	err := c.Reader.Get(ctx, client.ObjectKey{Name: name}, u)
	if apierrors.IsForbidden(err) { // the rights of a controller for some namespaces end at their border
		return nil, &Obstacle{kueue.Rejected, fmt.Sprintf("the controller may not read ResourceFlavor %s, which says which nodes the job may use: give it get of resourceflavors in a ClusterRole", name)}
	}
	if err != nil {
		return nil, fmt.Errorf("read ResourceFlavor %s: %w", name, err)
	}
	return u, nil
}
