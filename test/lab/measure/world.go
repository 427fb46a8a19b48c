//go:build linux

package measure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// World is the cluster, and what we have changed in it.
type World struct {
	Config *rest.Config
	Client client.WithWatch
	Audit  string // path of the API server's log
	Root   string // of the module
	Dir    string // for files of ours
	http   *http.Client
	name   string // of the program
	steps  []step // that undo what was done, the last first
}

type step struct {
	what string
	do   func(context.Context) error
}

// New reaches the cluster of $KUBECONFIG as the user agent name. Its caller calls Close.
func New(name string) (*World, error) {
	if err := kube.Cluster("MUSTER_AUDIT_LOG"); err != nil {
		return nil, err
	}
	log.SetLogger(logr.Discard()) // controller-runtime's
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("read KUBECONFIG: %w", err)
	}
	cfg.UserAgent, cfg.QPS = name, -1
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	root, err := figure.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "muster-"+name)
	return &World{Config: cfg, Client: c, Audit: os.Getenv("MUSTER_AUDIT_LOG"), Root: root, Dir: dir, http: httpClient, name: name}, err
}

// Close takes everything back.
func (w *World) Close() error { return errors.Join(w.Undo(0), os.RemoveAll(w.Dir)) }

// Say tells how far we are.
func (w *World) Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, w.name+": "+time.Now().UTC().Format("15:04:05")+" "+format+"\n", args...)
}

// Build makes a program of test/lab for a pod, and gives its path.
func (w *World) Build(ctx context.Context, program string) (path string, err error) {
	path = filepath.Join(w.Dir, filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./"+program)
	cmd.Dir, cmd.Env = filepath.Join(w.Root, "test", "lab"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return path, nil
}

// Access writes a kubeconfig with a token of a service account, whose namespace is the one that
// it stands for, and gives its path.
func (w *World) Access(ctx context.Context, namespace, account, duration string) (path string, err error) {
	token, err := kube.Kubectl(ctx, namespace, nil, "create", "token", account, "--duration="+duration)
	if err != nil {
		return "", err
	}
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: w.Config.Host, CertificateAuthorityData: w.Config.CAData}
	file.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c", Namespace: namespace}
	file.CurrentContext = "c"
	path = filepath.Join(w.Dir, account+".kubeconfig")
	return path, clientcmd.WriteToFile(*file, path)
}

// Later notes how something is taken back.
func (w *World) Later(what string, do func(context.Context) error) {
	w.steps = append(w.steps, step{what, do})
}

// Steps is how many things there are to take back.
func (w *World) Steps() int { return len(w.steps) }

// Undo takes back everything after the first steps, whether or not the program's own context has ended.
func (w *World) Undo(first int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var errs []error
	for _, s := range slices.Backward(w.steps[first:]) {
		if err := s.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.what, err))
		}
	}
	w.steps = w.steps[:first]
	return errors.Join(errs...)
}

// Spaces makes namespaces of a level of Pod Security, which go with all that is in them.
// What a run that was killed has left of them goes first.
func (w *World) Spaces(ctx context.Context, level string, names ...string) error {
	remove := func(ctx context.Context) error {
		var errs []error
		for _, name := range names { // all at once: the garbage collector takes its time with each
			errs = append(errs, client.IgnoreNotFound(w.Client.Delete(ctx, namespace(name, level))))
		}
		for _, name := range names {
			errs = append(errs, w.Gone(ctx, namespace(name, level)))
		}
		return errors.Join(errs...)
	}
	if err := remove(ctx); err != nil {
		return fmt.Errorf("remove namespaces that are left: %w", err)
	}
	w.Later("remove namespaces", remove)
	for _, name := range names {
		if err := w.Client.Create(ctx, namespace(name, level)); err != nil {
			return fmt.Errorf("make namespace: %w", err)
		}
		if err := w.Await(ctx, time.Minute, "a service account", func() (bool, error) {
			err := w.Client.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
			return err == nil, client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
	}
	return nil
}

func namespace(name, level string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}}}
}

// Gone waits until an object is not there any more.
func (w *World) Gone(ctx context.Context, object client.Object) error {
	return w.Await(ctx, 3*time.Minute, object.GetName()+" to go", func() (bool, error) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// Await asks until it is so; what it is told then is its answer. An error before that is
// asked again about.
func (w *World) Await(ctx context.Context, limit time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return await.Until(ctx, 100*time.Millisecond, what, so)
}

const (
	system     = "muster-system"
	deployment = "deployment/muster-controller"
)

// Install brings the CRD and the controller's account and rights; the Deployment has
// no pod. What was not there before goes in the end; a Deployment that was is then again
// what it was.
func (w *World) Install(ctx context.Context) error {
	began := time.Now()
	before, err := kube.Kubectl(ctx, system, nil, "get", deployment, "--ignore-not-found", "-o", "jsonpath={.spec}")
	if err != nil {
		return err
	}
	back, err := filepath.Rel(w.Dir, filepath.Join(w.Root, "images/deploy")) // kustomize wants relative paths
	if err != nil {
		return err
	}
	overlay := fmt.Sprintf("resources: [%q]\nreplicas: [{name: muster-controller, count: 0}]\n", back)
	if err := os.WriteFile(filepath.Join(w.Dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		return err
	}
	if before == "" {
		w.Later("uninstall", func(ctx context.Context) error {
			_, err := kube.Kubectl(ctx, system, nil, "delete", "-k", w.Dir, "--ignore-not-found")
			return err
		})
	} else {
		w.Later("put back "+deployment, func(ctx context.Context) error {
			_, err := kube.Kubectl(ctx, system, nil, "patch", deployment, "--type=json", "-p", fmt.Sprintf(`[{"op":"replace","path":"/spec","value":%s}]`, before))
			return err
		})
		if _, err := kube.Kubectl(ctx, system, nil, "scale", deployment, "--replicas=0"); err != nil {
			return err
		}
	}
	if _, err := kube.Kubectl(ctx, system, nil, "apply", "-k", w.Dir); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, system, nil, "wait", "--for=delete", "pods", "-l", "app.kubernetes.io/name=muster-controller", "--timeout=60s"); err != nil {
		return err
	}
	if err := kube.Served(ctx, "crd/launchjobs.muster.dev"); err != nil {
		return err
	}
	if _, err := audit.Since(w.Audit, began); err != nil {
		return fmt.Errorf("%w; test/lab/cluster up starts an API server that writes it", err)
	}
	return nil
}

// Start runs a program, its words going to a file beside the raw numbers. It is ended with
// the rest.
func (w *World) Start(log string, env []string, argv ...string) (*program.Process, error) {
	p, err := program.Start(log, env, argv...)
	if err == nil {
		w.Later("end "+filepath.Base(argv[0]), func(context.Context) error { return p.End() })
	}
	return p, err
}

// Controller starts bin/controller with a token of its own account.
func (w *World) Controller(ctx context.Context, bin, log string) (*program.Process, error) {
	path, err := w.Access(ctx, system, "muster-controller", "1h")
	if err != nil {
		return nil, err
	}
	w.Say("the controller starts")
	return w.Start(log, []string{"KUBECONFIG=" + path}, filepath.Join(bin, "controller"), "--metrics-addr=0", "--probe-addr=0")
}
