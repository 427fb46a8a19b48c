//go:build linux

package plane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/musterhq/muster/test/suite/figure"
)

const system, account = "muster-system", "muster-controller"

// overlay is images/deploy without the controller's pods.
const overlay = `resources: [%q]
patches:
  - target: {kind: Deployment}
    patch: |-
      $patch: delete
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: muster-controller, namespace: muster-system}
`

// Muster installs Muster's CRD and the controller's rights from images/deploy, and runs the controller as a process
// with these rights. bin is the directory of the program.
func (p *Plane) Muster(ctx context.Context, bin string, args ...string) error {
	root, err := figure.Root()
	if err != nil {
		return err
	}
	deploy := filepath.Join(p.dir, "deploy")
	if err := os.MkdirAll(deploy, 0o700); err != nil {
		return err
	}
	back, err := filepath.Rel(deploy, filepath.Join(root, "images/deploy")) // kustomize requires relative paths
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(deploy, "kustomization.yaml"), fmt.Appendf(nil, overlay, back), 0o600); err != nil {
		return err
	}
	if _, err := p.Kubectl(ctx, system, nil, "apply", "--server-side", "-k", deploy); err != nil {
		return err
	}
	if _, err := p.Kubectl(ctx, system, nil, "wait", "--for=condition=Established", "--timeout=60s", "crd/launchjobs.muster.dev"); err != nil {
		return err
	}
	token, err := p.Kubectl(ctx, system, nil, "create", "token", account, "--duration=2h")
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(p.dir, account+".kubeconfig")
	if err := p.withToken(kubeconfig, strings.TrimSpace(token)); err != nil {
		return err
	}
	argv := append([]string{filepath.Join(bin, "controller"), "--metrics-addr=0", "--probe-addr=0", "--agent-image=localhost/muster-agent:dev"}, args...)
	return p.Run("controller", []string{"KUBECONFIG=" + kubeconfig}, argv...)
}

// withToken writes a kubeconfig with a token.
func (p *Plane) withToken(path, token string) error {
	cfg, err := clientcmd.LoadFromFile(p.Kubeconfig)
	if err != nil {
		return err
	}
	for name := range cfg.AuthInfos {
		cfg.AuthInfos[name] = &api.AuthInfo{Token: token}
	}
	return clientcmd.WriteToFile(*cfg, path)
}
