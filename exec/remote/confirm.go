package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/musterhq/muster/exec/link"
)

// confirm looks at the pod itself when exec answered 404: a kubelet answers
// that too, about a pod that it has not heard of yet. Only the API server's own
// word makes the pod Gone. Other errors pass unchanged.
func (d *Dialer) confirm(ctx context.Context, err error) error {
	var failed *link.DialError
	if !errors.As(err, &failed) || failed.Kind != link.NotFound || d.client == nil {
		return err
	}
	body, getErr := d.client.Get().Namespace(d.target.Namespace).Resource("pods").Name(d.target.Pod).
		SetHeader("Accept", "application/json").DoRaw(ctx)
	if apierrors.IsNotFound(getErr) {
		return &link.DialError{Kind: link.Gone, Err: fmt.Errorf("%s does not exist any more", d.target)}
	}
	var pod struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if getErr != nil || json.Unmarshal(body, &pod) != nil {
		return err // unconfirmed
	}
	if d.target.UID != "" && pod.Metadata.UID != d.target.UID {
		return &link.DialError{Kind: link.Gone, Err: fmt.Errorf("%s was replaced: its uid is %s, not %s",
			d.target, pod.Metadata.UID, d.target.UID)}
	}
	return &link.DialError{Kind: link.Server, Err: fmt.Errorf("%w (but the pod exists)", failed.Err)}
}
