//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/musterhq/muster/test/kube"
	"github.com/musterhq/muster/test/program"
)

const (
	system     = "muster-system"
	deployment = "deployment/muster-controller"
)

// install brings the CRD and the controller's account and rights; the Deployment has
// no pod. What was not there before goes in the end.
func (w *world) install(ctx context.Context) error {
	before, err := kube.Kubectl(ctx, system, nil, "get", deployment, "--ignore-not-found", "-o", "jsonpath={.spec.replicas}")
	if err != nil {
		return err
	}
	back, err := filepath.Rel(w.dir, filepath.Join(w.root, "images/deploy")) // kustomize wants relative paths
	if err != nil {
		return err
	}
	overlay := fmt.Sprintf("resources: [%q]\nreplicas: [{name: muster-controller, count: 0}]\n", back)
	if err := os.WriteFile(filepath.Join(w.dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		return err
	}
	if before == "" {
		w.later("uninstall", func(ctx context.Context) error {
			_, err := kube.Kubectl(ctx, system, nil, "delete", "-k", w.dir, "--ignore-not-found")
			return err
		})
	} else {
		w.later("scale "+deployment, func(ctx context.Context) error {
			_, err := kube.Kubectl(ctx, system, nil, "scale", deployment, "--replicas="+before)
			return err
		})
		if _, err := kube.Kubectl(ctx, system, nil, "scale", deployment, "--replicas=0"); err != nil {
			return err
		}
	}
	if _, err := kube.Kubectl(ctx, system, nil, "apply", "-k", w.dir); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, system, nil, "wait", "--for=delete", "pods", "-l", "app.kubernetes.io/name=muster-controller", "--timeout=60s"); err != nil {
		return err
	}
	_, err = kube.Kubectl(ctx, system, nil, "wait", "--for=condition=Established", "crd/launchjobs.muster.dev", "--timeout=60s")
	return err
}

// start runs a program, its words going to a file beside the raw numbers. It is ended with
// the rest.
func (w *world) start(log string, env []string, argv ...string) (*program.Process, error) {
	p, err := program.Start(log, env, argv...)
	if err == nil {
		w.later("end "+filepath.Base(argv[0]), func(context.Context) error { return p.End() })
	}
	return p, err
}

// controller starts bin/controller with a token of its own account.
func (w *world) controller(ctx context.Context, bin, log string) (*program.Process, error) {
	token, err := kube.Kubectl(ctx, system, nil, "create", "token", "muster-controller", "--duration=1h")
	if err != nil {
		return nil, err
	}
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: w.cfg.Host, CertificateAuthorityData: w.cfg.CAData}
	file.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	file.CurrentContext = "c"
	path := filepath.Join(w.dir, "controller.kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return nil, err
	}
	say("the controller starts")
	return w.start(log, []string{"KUBECONFIG=" + path}, filepath.Join(bin, "controller"), "--metrics-addr=0", "--probe-addr=0")
}
