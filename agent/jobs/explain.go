package jobs

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// explain turns an error of the API server into a failure with a hint. what is the operation, as in
// "list jobs".
func (a *API) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if f := (*failure.Failure)(nil); errors.As(err, &f) {
		return err
	}
	wrap := func(code int, way string) error { return failure.New(code, way, "%s: %w", what, err) }
	switch {
	case apierrors.IsUnauthorized(err):
		return wrap(names.ExitForbidden, "the credentials are wrong or have expired: log in again; kubectl auth whoami tests them")
	case apierrors.IsForbidden(err):
		return wrap(names.ExitForbidden, "ask for a Role with this permission, see docs/guides/submit.md; kubectl auth whoami says who you are")
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return wrap(names.ExitUsage, "")
	case isNoKind(err):
		return failure.New(names.ExitNoCluster, "install Muster's CRD and controller: kubectl apply -f images/install.yaml, see docs/operations/install.md",
			"%s: the cluster has no CRD %s.%s", what, plural, v1alpha1.Version().Group)
	case apierrors.IsNotFound(err):
		return wrap(1, a.elsewhere(ctx, err))
	case apierrors.IsAlreadyExists(err):
		return wrap(1, "choose another --name, or run agent delete first")
	case apierrors.IsConflict(err):
		return wrap(1, "the job was changed at the same time: retry")
	case errors.Is(err, context.Canceled):
		return wrap(130, "")
	}
	return wrap(names.ExitNoCluster, "check whether the API server "+a.host()+" can be reached from here")
}

// elsewhere says where else to look for the object that was not found. The API server reports a
// missing namespace only to a request that would create an object in it.
func (a *API) elsewhere(ctx context.Context, err error) string {
	details := detailsOf(err)
	if details == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	nerr := do[struct{}](ctx, a.client.Get().AbsPath("/api/v1/namespaces", a.Namespace), nil)
	switch missing := detailsOf(nerr); {
	case details.Kind == "namespaces", missing != nil && missing.Kind == "namespaces" && !isNoKind(nerr):
		return "namespace " + a.Namespace + " does not exist: choose another with -n"
	case details.Kind == plural:
		return a.Line("list") + " lists the jobs of namespace " + a.Namespace + "; -n chooses another namespace"
	}
	return ""
}

// detailsOf returns the API server's details about the object that it did not find.
func detailsOf(err error) *metav1.StatusDetails {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return nil
	}
	return status.Status().Details
}

// isNoKind reports whether the server does not serve the kind, as before the CRD is installed. It
// then answers with plain text, which client-go records as a cause.
func isNoKind(err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	d := detailsOf(err)
	return d == nil || d.Name == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
