package kube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Controller installs the controller of deploy, which is the path of images/deploy, with
// the images of images/build.sh, and waits until it runs. Another mark starts it
// anew. It stays, as the cluster does.
func Controller(ctx context.Context, deploy, mark string) error {
	dir, err := os.MkdirTemp("", "muster-deploy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	deploy, err = filepath.Abs(deploy)
	if err != nil {
		return err
	}
	back, err := filepath.Rel(dir, deploy) // kustomize wants relative paths
	if err != nil {
		return err
	}
	overlay := fmt.Sprintf(`resources: [%q]
images:
  - {name: ghcr.io/musterhq/muster-controller, newName: localhost/muster-controller, newTag: dev}
  - {name: ghcr.io/musterhq/muster-agent, newName: localhost/muster-agent, newTag: dev}
patches:
  - target: {kind: Deployment}
    patch: |-
      - {op: replace, path: /spec/template/spec/containers/0/env/1/value, value: localhost/muster-agent:dev}
      - {op: add, path: /spec/template/metadata/annotations, value: {muster.dev/mark: %q}}
`, back, mark)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		return err
	}
	const namespace = "muster-system"
	if _, err := Kubectl(ctx, namespace, nil, "apply", "-k", dir); err != nil {
		return err
	}
	if _, err = Kubectl(ctx, namespace, nil, "rollout", "status", "deployment/muster-controller", "--timeout=100s"); err != nil {
		out, _ := Kubectl(ctx, namespace, nil, "describe", "pods")
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
