package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
)

// confirm checks the pod itself if exec answered 404. A kubelet also answers 404 for a pod that it
// does not know yet. The pod is Gone only if the API server says so. confirm returns other errors
// unchanged.
func (d *Dialer) confirm(ctx context.Context, err error) error {
	var failed *link.DialError
	if !errors.As(err, &failed) || failed.Kind != link.NotFound || d.client == nil {
		return err
	}
	uid, lookErr := d.look(ctx)
	switch {
	case apierrors.IsNotFound(lookErr):
		return &link.DialError{Kind: link.Gone, Err: fmt.Errorf("%s no longer exists", d.target)}
	case lookErr != nil:
		return err // unconfirmed
	case d.target.UID != "" && uid != d.target.UID:
		return &link.DialError{Kind: link.Gone, Err: fmt.Errorf("%s was replaced: uid is %s, want %s",
			d.target, uid, d.target.UID)}
	}
	return &link.DialError{Kind: link.Server, Err: fmt.Errorf("%w (but the pod exists)", failed.Err)}
}

// look returns the uid of the pod that has the target's name now, or the API server's error. A
// launcher may list pods but not get them. In shared namespaces it may get its own pods by name but
// not list them.
func (d *Dialer) look(ctx context.Context) (uid string, err error) {
	type object struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	request := func() *rest.Request {
		return d.client.Get().Namespace(d.target.Namespace).Resource("pods").SetHeader("Accept", "application/json")
	}
	body, err := request().Param("fieldSelector", "metadata.name="+d.target.Pod).DoRaw(ctx)
	if apierrors.IsForbidden(err) {
		var pod object
		if body, err = request().Name(d.target.Pod).DoRaw(ctx); err != nil {
			return "", err
		}
		err = json.Unmarshal(body, &pod)
		return pod.Metadata.UID, err
	}
	if err != nil {
		return "", err
	}
	var list struct {
		Kind  string   `json:"kind"`
		Items []object `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return "", err
	}
	if list.Kind != "PodList" {
		return "", fmt.Errorf("list pod %s: the answer is not a list of pods", d.target)
	}
	if len(list.Items) == 0 {
		return "", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, d.target.Pod)
	}
	return list.Items[0].Metadata.UID, nil
}
