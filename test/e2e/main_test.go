//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// owner labels the namespaces of this suite with the run that made them.
const owner = "muster.dev/e2e"

// run names this run: machine and process.
func run() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// interrupted tells whether a run of this machine has ended.
func interrupted(run string) bool {
	host, _ := os.Hostname()
	pid, ok := strings.CutPrefix(run, host+"-")
	if !ok {
		return false
	}
	_, err := os.Stat("/proc/" + pid)
	return err != nil
}

func TestMain(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: "+err.Error())
		os.Exit(1)
	}
	begin := time.Now()
	code := m.Run()
	if code != 0 {
		os.Exit(code) // what failed is the last that is read
	}
	if err := printFaults(os.Stdout, begin); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: "+err.Error())
		code = 1
	}
	os.Exit(code)
}

// prepare finds the cluster and removes what an interrupted run left.
func prepare() error {
	if os.Getenv("KUBECONFIG") == "" {
		return fmt.Errorf("no cluster: make cluster-up, then eval \"$(cd test/lab/cluster && go run . env)\"")
	}
	kubectl := kubectlCall{namespace: "default"}
	out, err := kubectl.run("get", "namespaces", "-l", owner, "--request-timeout=20s",
		"-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.labels.muster\.dev/e2e}{"\n"}{end}`)
	if err != nil {
		return fmt.Errorf("the cluster of KUBECONFIG does not answer: %w", err)
	}
	for line := range strings.Lines(out) {
		name, run, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !interrupted(run) {
			continue
		}
		if _, err := kubectl.run("delete", "namespace", name, "--wait=false", "--ignore-not-found"); err != nil {
			return err
		}
	}
	return nil
}

// cluster runs a verb of test/lab/cluster, for tests that break things.
func cluster(t *testing.T, args ...string) string {
	t.Helper()
	out, err := clusterVerb(args...)
	if err != nil {
		t.Fatalf("cluster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func clusterVerb(args ...string) (out string, err error) {
	program := os.Getenv("MUSTER_CLUSTER")
	if program == "" {
		return "", errors.New("only on the cluster that `make cluster-up` makes")
	}
	cmd := exec.Command(program, args...)
	cmd.WaitDelay = time.Minute // what it starts may keep our pipe
	text, err := cmd.CombinedOutput()
	return string(text), err
}
