//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// stale marks the namespaces of this suite.
const stale = "muster.dev/e2e"

func TestMain(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: "+err.Error())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// prepare finds the cluster and removes what an interrupted run left.
func prepare() error {
	if os.Getenv("KUBECONFIG") == "" {
		return fmt.Errorf("no cluster: make cluster-up, then eval \"$(cd test/cluster && go run . env)\"")
	}
	out, err := exec.Command(kubectlPath(), "delete", "namespace", "-l", stale, "--wait=false", "--ignore-not-found",
		"--request-timeout=20s").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the cluster of KUBECONFIG does not answer: %w\n%s", err, out)
	}
	return nil
}

// cluster runs a verb of test/cluster, for tests that break things.
func cluster(t *testing.T, args ...string) string {
	t.Helper()
	program := os.Getenv("MUSTER_CLUSTER")
	if program == "" {
		t.Fatalf("cluster %s: only on the cluster that `make cluster-up` makes", strings.Join(args, " "))
	}
	cmd := exec.Command(program, args...)
	cmd.WaitDelay = time.Minute // what it starts may keep our pipe
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cluster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
