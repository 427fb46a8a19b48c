//go:build e2e

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
)

const (
	// owner labels the namespaces of these tests.
	owner = "muster.dev/install"
	// system is where images/deploy puts the controller.
	system = "muster-system"
	kind   = "launchjobs.muster.dev"
	// component selects all that is installed but the CRD.
	component = "app.kubernetes.io/component=controller"
)

func TestMain(m *testing.M) {
	err := prepare()
	code := 1
	if err == nil {
		code = m.Run()
		err = clean()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "install: "+err.Error())
		code = 1
	}
	os.Exit(code)
}

// prepare takes away what an earlier run, or another suite, left.
func prepare() error {
	if os.Getenv("KUBECONFIG") == "" {
		return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/lab/cluster run . env)\"")
	}
	if err := strangers(); err != nil {
		return err
	}
	return clean()
}

// strangers refuses a cluster on which somebody's jobs would lose their controller.
func strangers() error {
	if _, err := kubectl("get", "crd", kind); err != nil {
		return nil // there are none
	}
	list, err := kubectl("get", "launchjobs", "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}`)
	if err != nil {
		return err
	}
	// A namespace that is being deleted takes its jobs along by itself.
	others, err := kubectl("get", "namespaces", "-l", "!"+owner, "--field-selector=status.phase=Active", "-o", `jsonpath={range .items[*]}/{.metadata.name}/ {end}`)
	if err != nil {
		return err
	}
	for _, job := range strings.Fields(list) {
		namespace, _, _ := strings.Cut(job, "/")
		if strings.Contains(others, "/"+namespace+"/") {
			return fmt.Errorf("the cluster has the job %s: this test takes controller and CRD away, and the jobs with them", job)
		}
	}
	return nil
}

// clean removes the controller however it was installed, the kind and the tests'
// namespaces.
func clean() error {
	var all error
	for _, args := range [][]string{
		{"delete", "namespace", "-l", owner, "--ignore-not-found", "--wait=false"},
		{"delete", "namespace", system, "--ignore-not-found"},
		{"delete", "clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding", "-l", component, "--ignore-not-found"},
		{"delete", "clusterrole,clusterrolebinding", "muster-controller", "--ignore-not-found"}, // of releases without the label
		{"delete", "crd", kind, "--ignore-not-found"},
		{"wait", "--for=delete", "namespace", "-l", owner, "--timeout=60s"},
	} {
		_, err := kubectl(args...)
		all = errors.Join(all, err)
	}
	return all
}

// kubectl runs it as a user does who has just come to the cluster.
func kubectl(args ...string) (string, error) { return kubectlWith(nil, args...) }

func kubectlWith(stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return kube.Program(ctx, stdin, kube.Path(), args...)
}
