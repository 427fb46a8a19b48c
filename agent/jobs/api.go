package jobs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// asked is the time limit of one request to the API server. Streams have none.
const asked = 30 * time.Second

// Where selects the cluster and namespace, like kubectl's flags. Empty fields mean kubectl's
// defaults: $KUBECONFIG, ~/.kube/config, and its current context. In a pod without these it is the
// pod's own account.
type Where struct {
	Kubeconfig, Context, Namespace string
	UserAgent                      string
}

// API is an API server, and the namespace to work in.
type API struct {
	Namespace string
	where     Where // as given
	config    *rest.Config
	client    rest.Interface
}

// Line returns the command line of a verb for the same cluster and namespace. Hints use it: "logs
// -f pi" becomes "agent logs -f pi -n lab" if -n lab was given.
func (a *API) Line(words string) string {
	line := "agent " + words
	for _, flag := range []struct{ name, value string }{
		{"-n ", a.where.Namespace}, {"--context=", a.where.Context}, {"--kubeconfig=", a.where.Kubeconfig},
	} {
		if flag.value != "" {
			line += " " + flag.name + flag.value
		}
	}
	return line
}

// checkNamespace rejects a word that would point a request at something else.
func checkNamespace(namespace string) error {
	if wrong := rest.IsValidPathSegmentName(namespace); len(wrong) > 0 {
		return failure.Usage("kubectl get namespaces shows the names", "%q is not a namespace: it %s", namespace, wrong[0])
	}
	return nil
}

// Open finds the cluster without connecting to it. Errors are failures with exit code 69, or 64 for
// a wrong namespace.
func Open(w Where) (*API, error) {
	if err := checkNamespace(w.Namespace); err != nil {
		return nil, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = w.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: w.Context})
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, failure.New(names.ExitNoCluster, "give --kubeconfig, set KUBECONFIG, or run it in a pod with a service account", "find the cluster: %w", plainly(err))
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, failure.New(names.ExitNoCluster, "", "find the cluster: %w", err)
	}
	if w.Namespace != "" {
		namespace = w.Namespace
	}
	if err := checkNamespace(namespace); err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = w.UserAgent
	client, err := newClient(cfg)
	if err != nil {
		return nil, failure.New(names.ExitNoCluster, "", "find the cluster: %w", err)
	}
	return &API{Namespace: namespace, where: w, config: cfg, client: client}, nil
}

// plainly says in our words that there is no kubeconfig at all.
func plainly(err error) error {
	if errors.Is(err, clientcmd.ErrEmptyConfig) {
		if at := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); at != "" {
			return fmt.Errorf("not running in a pod, and KUBECONFIG=%s does not exist", at)
		}
		return errors.New("not running in a pod, and there is no kubeconfig")
	}
	return err
}

// newClient returns a JSON client for the kinds that these verbs need.
func newClient(cfg *rest.Config) (rest.Interface, error) {
	s := runtime.NewScheme()
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{}, &corev1.PodList{}, &corev1.Node{}, &corev1.NodeList{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	if err := v1alpha1.AddToScheme(s); err != nil {
		return nil, err
	}
	gv := corev1.SchemeGroupVersion
	cfg.GroupVersion, cfg.APIPath = &gv, "/api"
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(s).WithoutConversion()
	cfg.WarningHandler = rest.NoWarnings{} // warnings would be printed across the output
	cfg.QPS = -1                           // each verb limits its own requests
	return rest.RESTClientFor(cfg)
}

func (a *API) host() string { return strings.TrimSuffix(a.config.Host, "/") }

// passing reports whether a retry of the request may succeed.
func passing(err error) bool {
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case err == nil:
		return false
	case apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsUnexpectedServerError(err):
		return true
	case errors.As(err, &status):
		return status.Status().Code >= 500
	case errors.As(err, &network), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return true
	}
	text := err.Error()
	return strings.Contains(text, "EOF") || strings.Contains(text, "connection")
}

// denied reports 401 and 403, which an API server may return wrongly just after its start.
func denied(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// patience retries while the server is away. It gives up on a permanent answer: at once, or for 401
// and 403 after deniedFor.
type patience struct {
	say    func(format string, args ...any)
	quiet  bool // reports only answers of the API server; another patience reports that it is away
	denied time.Time
	told   bool
}

// deniedFor is how long 401 and 403 are attributed to a start of the API server.
const deniedFor = 5 * time.Second

// again reports whether to retry after err. nil resets it.
func (p *patience) again(err error) bool {
	switch {
	case err == nil:
		if p.told {
			p.say("answered again")
		}
		p.denied, p.told = time.Time{}, false
		return true
	case denied(err):
		if p.denied.IsZero() {
			p.denied = time.Now()
		}
		return time.Since(p.denied) < deniedFor
	case !passing(err):
		return false
	}
	p.denied = time.Time{}
	var answer apierrors.APIStatus
	if !p.told && (!p.quiet || errors.As(err, &answer)) {
		p.told = true
		p.say("retrying: %s", strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	}
	return true
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
