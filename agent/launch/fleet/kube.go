//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// ownPodTime bounds one read of our own pod.
	ownPodTime = 10 * time.Second
	// deniedFor is how long 401 and 403 are attributed to an API server that has just restarted.
	deniedFor = 5 * time.Second
)

// Kube gives access to a cluster: its pods, reached through pods/exec.
type Kube struct {
	cfg       *rest.Config
	client    rest.Interface
	Namespace string
	agent     string // path of the agent in the workers
	Gate      *link.Gate
	proto     *remote.Protocol
	Grace     time.Duration // of our own pod, after Epoch has read it; 0: unknown
	Container string        // our own, after Epoch has read our pod; "": unknown
}

// tokenFile is the path of a pod's service account token, which client-go reads.
const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // G101: a path, not a token

// noCluster returns an error that says what is missing, instead of what client-go tried last.
func noCluster(cfg config.Config, err error, inPod bool, token string) error {
	named := cfg.Kubeconfig != "" || cfg.Context != ""
	if _, terr := os.Stat(token); inPod && !named && errors.Is(terr, fs.ErrNotExist) {
		return failure.New(names.ExitNoCluster, "set serviceAccountName, and automountServiceAccountToken: true, in the launcher's pod template",
			"find the cluster: this pod has no ServiceAccount token")
	}
	if !named && errors.Is(err, clientcmd.ErrEmptyConfig) {
		err = errors.New("not running in a pod, and there is no kubeconfig")
		if at := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); at != "" {
			err = fmt.Errorf("not running in a pod, and KUBECONFIG=%s does not exist", at)
		}
	}
	return failure.New(names.ExitNoCluster, "run it in a pod, set --kubeconfig, or try it on this machine with --fake=4", "find the cluster: %w", err)
}

// NewKube finds the cluster. agent is the path of the agent in the workers. version is our version.
// Errors are *failure.Failure with code 69.
func NewKube(cfg config.Config, agent, version string) (*Kube, error) {
	restCfg, namespace, err := remote.LoadConfig(cfg.Kubeconfig, cfg.Context)
	if err != nil {
		return nil, noCluster(cfg, err, InPod(), tokenFile)
	}
	restCfg.UserAgent = "muster-launcher/" + version
	client, err := rendezvous.Client(restCfg)
	if err != nil {
		return nil, failure.New(names.ExitNoCluster, "", "find the cluster: %w", err)
	}
	if cfg.Namespace != "" {
		namespace = cfg.Namespace
	}
	if cfg.WorkerAgent != "" {
		agent = cfg.WorkerAgent
	}
	return &Kube{cfg: restCfg, client: client, Namespace: namespace, agent: agent,
		Gate: link.NewGate(), proto: &remote.Protocol{}}, nil
}

// LogTo makes the dialers log a change of their protocol: once, because all of them share it. It is
// no warning. The job runs, and only an administrator can change the gateway that blocks a protocol.
func (k *Kube) LogTo(log *slog.Logger) {
	k.proto.Changed = func(to remote.Transport, why error) {
		log.Info("exec streams use another protocol from now on", "protocol", to.String(), "err", why)
	}
}

// Dialer implements Dialers.
func (k *Kube) Dialer(w rendezvous.Worker) link.Dialer {
	return remote.New(k.cfg, k.client, remote.Target{
		Namespace: w.Namespace, Pod: w.Name, UID: w.UID, Container: w.Container, Agent: k.agent,
	}, k.proto)
}

// watch returns the pod watch of the job.
func (k *Kube) watch(cfg config.Config) rendezvous.Watch {
	return rendezvous.Watch{Client: k.client, Namespace: k.Namespace, Selector: cfg.WorkerSelector(), Names: cfg.Pods, Gate: k.Gate}
}

// ListPods returns the current workers in a cluster, for `agent env` and `agent hosts`, and opens no
// links. agent and version are as for NewKube.
func ListPods(ctx context.Context, cfg config.Config, agent, version string) ([]rendezvous.Worker, error) {
	k, err := NewKube(cfg, agent, version)
	if err != nil {
		return nil, err
	}
	return k.list(ctx, cfg)
}

// list asks once for the current workers.
func (k *Kube) list(ctx context.Context, cfg config.Config) ([]rendezvous.Worker, error) {
	pods, err := k.find(ctx, cfg)
	if err != nil {
		return nil, k.failure("list pods", err)
	}
	board := rendezvous.New(max(cfg.Workers, len(pods.Items)), 0)
	board.Containers = rendezvous.Containers{Flag: cfg.Container}
	shot := rendezvous.Snapshot{At: time.Now()}
	for i := range pods.Items {
		shot.Pods = append(shot.Pods, &pods.Items[i])
	}
	board.SetPods(shot)
	workers := board.Workers()
	if cfg.Spares > 0 { // the last ones
		workers = workers[:min(len(workers), cfg.Workers)]
	}
	return workers, nil
}

// find lists the workers' pods, or gets them one by one if they are named.
func (k *Kube) find(ctx context.Context, cfg config.Config) (corev1.PodList, error) {
	var pods corev1.PodList
	if len(cfg.Pods) == 0 {
		err := k.client.Get().Namespace(k.Namespace).Resource("pods").Param("labelSelector", cfg.WorkerSelector()).
			SetHeader("Accept", "application/json").Do(ctx).Into(&pods)
		return pods, err
	}
	for _, name := range cfg.Pods {
		var pod corev1.Pod
		err := k.client.Get().Namespace(k.Namespace).Resource("pods").Name(name).SetHeader("Accept", "application/json").Do(ctx).Into(&pod)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return pods, err
		default:
			pods.Items = append(pods.Items, pod)
		}
	}
	return pods, nil
}

func (k *Kube) failure(what string, err error) error {
	if apierrors.IsUnauthorized(err) {
		return failure.New(names.ExitForbidden, "the credentials are wrong or have expired: in a pod, check that its ServiceAccount still exists; elsewhere, log in again",
			"%s: %w", what, err)
	}
	if apierrors.IsForbidden(err) {
		return failure.New(names.ExitForbidden, "the launcher's Role needs list and watch of pods in namespace "+k.Namespace, "%s: %w", what, err)
	}
	return failure.New(names.ExitNoCluster, "", "%s: %w", what, err)
}

// Epoch orders this launcher among the launchers of the job, by our pod's creation time and its
// containers' restarts. Outside of a pod the launcher is as old as this call, and its uid is id.
// Epoch waits while the API server does not answer.
func (k *Kube) Epoch(ctx context.Context, cfg config.Config, id string) (wire.Epoch, error) {
	name := cfg.PodName
	if name == "" && InPod() {
		name, _ = os.Hostname() // the kubelet's default; empty: no pod
	}
	now := time.Now().UnixNano()
	self := wire.Epoch{Created: now, UID: cfg.PodUID, Started: now}
	if self.UID == "" {
		self.UID = id
	}
	if name == "" {
		return self, nil
	}
	var denied time.Time
	var last error // the error of the API server, not of our own deadline
	for {
		pod, err := k.get(ctx, name)
		if ctx.Err() == nil || last == nil {
			last = err
		}
		switch {
		case err == nil && (cfg.PodUID == "" || string(pod.UID) == cfg.PodUID):
			k.Grace = rendezvous.GraceOf(pod)
			k.Container, _ = rendezvous.Containers{}.Pick(pod) // "" if it is ambiguous
			return epochOf(pod, now), nil
		case err == nil, apierrors.IsNotFound(err):
			return self, nil // no pod of ours has this name
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			if denied.IsZero() {
				denied = time.Now()
			}
			if time.Since(denied) >= deniedFor {
				return self, nil // no right to read our own pod: each start counts as newer than the last
			}
		default:
			denied = time.Time{}
		}
		if !wait.Sleep(ctx, time.Second/2) {
			return self, failure.New(names.ExitNoCluster, "check whether the API server runs and can be reached from this pod",
				"the cluster cannot be reached: %w", last)
		}
	}
}

// get reads our own pod. It uses list, which launchers have the right to. If list is forbidden, it
// uses get, which some launchers have for their own pod only.
func (k *Kube) get(ctx context.Context, name string) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, ownPodTime)
	defer cancel()
	request := func() *rest.Request {
		return k.client.Get().Namespace(k.Namespace).Resource("pods").SetHeader("Accept", "application/json")
	}
	var pod corev1.Pod
	var list corev1.PodList
	err := request().Param("fieldSelector", "metadata.name="+name).Do(ctx).Into(&list)
	switch {
	case apierrors.IsForbidden(err):
		err = request().Name(name).Do(ctx).Into(&pod)
	case err == nil && len(list.Items) == 0:
		err = apierrors.NewNotFound(corev1.Resource("pods"), name)
	case err == nil:
		pod = list.Items[0]
	}
	if err != nil {
		return nil, fmt.Errorf("get our own pod %s: %w", name, err)
	}
	return &pod, nil
}

func epochOf(pod *corev1.Pod, started int64) wire.Epoch {
	e := wire.Epoch{Created: pod.CreationTimestamp.UnixNano(), UID: string(pod.UID), Started: started}
	for _, s := range pod.Status.ContainerStatuses {
		e.Restarts += int(s.RestartCount)
	}
	return e
}

// InPod reports whether a kubelet started us.
func InPod() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }
