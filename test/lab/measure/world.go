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

// World is the cluster, and the cleanup steps for the changes in it.
type World struct {
	Config *rest.Config
	Client client.WithWatch
	Audit  string // path of the API server's log
	Root   string // of the module
	Dir    string // for temporary files
	http   *http.Client
	name   string // of the program
	steps  []step // cleanup steps; the last runs first
}

type step struct {
	what string
	do   func(context.Context) error
}

// New connects to the cluster of $KUBECONFIG, with the user agent name. The caller must call Close.
func New(name string) (*World, error) {
	if err := kube.Cluster("MUSTER_AUDIT_LOG"); err != nil {
		return nil, err
	}
	log.SetLogger(logr.Discard()) // silences controller-runtime
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

// Close undoes all changes.
func (w *World) Close() error { return errors.Join(w.Undo(0), os.RemoveAll(w.Dir)) }

// Say prints a line about the progress.
func (w *World) Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, w.name+": "+time.Now().UTC().Format("15:04:05")+" "+format+"\n", args...)
}

// Build builds a program of test/lab for a pod, and returns its path.
func (w *World) Build(ctx context.Context, program string) (path string, err error) {
	path = filepath.Join(w.Dir, filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./"+program)
	cmd.Dir, cmd.Env = filepath.Join(w.Root, "test", "lab"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return path, nil
}

// Access writes a kubeconfig with a token of a service account, and the service account's namespace as the
// default, and returns its path.
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

// Later registers a cleanup step.
func (w *World) Later(what string, do func(context.Context) error) {
	w.steps = append(w.steps, step{what, do})
}

// Steps returns the number of cleanup steps.
func (w *World) Steps() int { return len(w.steps) }

// Undo runs all cleanup steps after the first ones, whether or not the program's own context has ended.
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

// Spaces creates namespaces with a level of Pod Security, and registers their removal.
// It first deletes namespaces that a killed run left behind.
func (w *World) Spaces(ctx context.Context, level string, names ...string) error {
	remove := func(ctx context.Context) error {
		var errs []error
		for _, name := range names { // all at once, because the garbage collector takes time for each
			errs = append(errs, client.IgnoreNotFound(w.Client.Delete(ctx, namespace(name, level))))
		}
		for _, name := range names {
			errs = append(errs, w.Gone(ctx, namespace(name, level)))
		}
		return errors.Join(errs...)
	}
	if err := remove(ctx); err != nil {
		return fmt.Errorf("remove old namespaces: %w", err)
	}
	w.Later("remove namespaces", remove)
	for _, name := range names {
		if err := w.Client.Create(ctx, namespace(name, level)); err != nil {
			return fmt.Errorf("create namespace: %w", err)
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

// Gone waits until an object no longer exists.
func (w *World) Gone(ctx context.Context, object client.Object) error {
	return w.Await(ctx, 3*time.Minute, object.GetName()+" to be removed", func() (bool, error) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// Await calls so until it returns true, and returns so's error of that call. An earlier error is
// retried.
func (w *World) Await(ctx context.Context, limit time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return await.Until(ctx, 100*time.Millisecond, what, so)
}

const (
	system     = "muster-system"
	deployment = "deployment/muster-controller"
)

// Install applies the CRD and the controller's account and rights, with a Deployment that has
// no pods. At the end it uninstalls them, or restores the Deployment if there was one
// before.
func (w *World) Install(ctx context.Context) error {
	began := time.Now()
	before, err := kube.Kubectl(ctx, system, nil, "get", deployment, "--ignore-not-found", "-o", "jsonpath={.spec}")
	if err != nil {
		return err
	}
	back, err := filepath.Rel(w.Dir, filepath.Join(w.Root, "images/deploy")) // kustomize requires relative paths
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
		w.Later("restore "+deployment, func(ctx context.Context) error {
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
		return fmt.Errorf("%w; test/lab/cluster up starts an API server that writes an audit log", err)
	}
	return nil
}

// Start runs a program until Close, with its output in the file log. It is stopped by
// the cleanup.
func (w *World) Start(log string, env []string, argv ...string) (*program.Process, error) {
	p, err := program.Start(log, env, argv...)
	if err == nil {
		w.Later("stop "+filepath.Base(argv[0]), func(context.Context) error { return p.End() })
	}
	return p, err
}

// Controller starts bin/controller with a token of its own account.
func (w *World) Controller(ctx context.Context, bin, log string) (*program.Process, error) {
	path, err := w.Access(ctx, system, "muster-controller", "1h")
	if err != nil {
		return nil, err
	}
	w.Say("starting the controller")
	return w.Start(log, []string{"KUBECONFIG=" + path}, filepath.Join(bin, "controller"), "--metrics-addr=0", "--probe-addr=0")
}
