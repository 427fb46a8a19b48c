package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// podNamespace is where the kubelet mounts a pod's namespace beside its token.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// LoadConfig finds the API server and the namespace to work in. In a pod with a
// service account token that is the pod's own, unless a kubeconfig file or a
// context is named; else kubectl's rules: the named file, $KUBECONFIG,
// ~/.kube/config. The rate limit of client-go is off in the returned config:
// callers bound what they send themselves.
func LoadConfig(kubeconfig, context string) (cfg *rest.Config, namespace string, err error) {
	if kubeconfig == "" && context == "" {
		cfg, namespace, err = inPod()
	}
	if cfg == nil && err == nil {
		cfg, namespace, err = fromKubeconfig(kubeconfig, context)
	}
	if err != nil {
		return nil, "", err
	}
	cfg.QPS = -1
	return cfg, namespace, nil
}

// inPod returns a nil config where there is no cluster around, or no token.
func inPod() (*rest.Config, string, error) {
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) || errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read service account: %w", err)
	}
	namespace, err := os.ReadFile(podNamespace)
	if err != nil {
		return nil, "", fmt.Errorf("read service account: %w", err)
	}
	return cfg, strings.TrimSpace(string(namespace)), nil
}

func fromKubeconfig(path, context string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("read kubeconfig: %w", err)
	}
	return cfg, namespace, nil
}
