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

// podNamespace is the file in which the kubelet mounts a pod's namespace, next to its token.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// LoadConfig finds the API server and the namespace to use. In a pod with a service account token,
// they are the pod's own, unless a kubeconfig file or a context is named. Otherwise kubectl's rules
// apply: the named file, $KUBECONFIG, ~/.kube/config. The returned config disables the rate limit
// of client-go, so callers must limit their own requests.
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

// inPod returns a nil config outside a cluster, or without a token.
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
