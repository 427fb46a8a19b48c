//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/hangs"
	"github.com/musterhq/muster/test/suite/kube"
)

// owner is the label on this suite's namespaces with the run that created them.
const owner = "muster.dev/e2e"

// run returns the name of this run: machine and process.
func run() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// interrupted reports whether a run of this machine has ended.
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
		os.Exit(code) // so that the failures are the end of the output
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
		return "", errors.New("this test needs the cluster of `make cluster-up`")
	}
	cmd := exec.Command(program, args...)
	cmd.WaitDelay = time.Minute // processes that it starts may keep our pipe open
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// kubectlCall is one call of kubectl in a namespace.
type kubectlCall struct {
	namespace string
	stdin     []byte
	limit     time.Duration // 0: a minute
}

// run returns kubectl's stdout. Errors include its stderr.
func (c kubectlCall) run(args ...string) (string, error) {
	if c.limit == 0 {
		c.limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, kube.Path(), append([]string{"--namespace", c.namespace}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), &callError{args: args, err: err, stderr: stderr.String()}
	}
	return stdout.String(), nil
}

// callError is a failed call of kubectl. Unwrap returns the error with its exit code.
type callError struct {
	args   []string
	err    error
	stderr string
}

func (e *callError) Error() string {
	return fmt.Sprintf("kubectl %s: %v\n%s", strings.Join(e.args, " "), e.err, e.stderr)
}

func (e *callError) Unwrap() error { return e.err }

// space is the namespace of one test.
type space struct {
	t    *testing.T
	name string
}

// newSpace creates a namespace that only admits restricted pods, and deletes it when the test has ended.
func newSpace(t *testing.T) *space {
	t.Helper()
	return newSpaceWith(t, "restricted")
}

// newSpaceWith sets the Pod Security level: restricted, baseline, privileged.
func newSpaceWith(t *testing.T, level string) *space {
	t.Helper()
	base := strings.NewReplacer("/", "-", "_", "-", "#", "").Replace(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")))
	s := &space{t: t, name: "e2e-" + base[:min(len(base), 40)] + "-" + strings.ToLower(rand.Text()[:5])}
	s.apply(map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": s.name, "labels": map[string]string{
			owner: run(), "pod-security.kubernetes.io/enforce": level,
		}},
	})
	t.Cleanup(s.close)
	// Pods are refused until the controller has created the service account.
	s.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
	return s
}

// try runs kubectl in the namespace.
func (s *space) try(limit time.Duration, args ...string) (string, error) {
	return kubectlCall{namespace: s.name, limit: limit}.run(args...)
}

// kubectl runs kubectl in the namespace. The test fails if kubectl does.
func (s *space) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.try(time.Minute, args...)
	require.NoError(s.t, err)
	return out
}

// apply creates or changes objects.
func (s *space) apply(objects ...any) {
	s.t.Helper()
	var text []byte
	for _, object := range objects {
		one, err := json.Marshal(object)
		require.NoError(s.t, err)
		text = append(text, one...)
		text = append(text, '\n')
	}
	_, err := kubectlCall{namespace: s.name, stdin: text}.run("apply", "--validate=false", "-f", "-")
	require.NoError(s.t, err)
}

// close prints what a failed test left, and deletes the namespace without waiting. It fails the test if a worker
// had a token.
func (s *space) close() {
	s.checkTokens()
	s.checkHangs()
	if s.t.Failed() {
		s.show()
		if os.Getenv("MUSTER_E2E_KEEP") != "" {
			s.t.Logf("the namespace is kept: kubectl --namespace %s get pods", s.name)
			return
		}
	}
	if _, err := s.try(time.Minute, "delete", "namespace", s.name, "--wait=false"); err != nil {
		s.t.Logf("namespace %s was not deleted: %v", s.name, err)
	}
}

// show logs pods, events and the last lines of every container.
func (s *space) show() {
	var b strings.Builder
	section := func(title string, args ...string) {
		out, err := s.try(20*time.Second, args...)
		if err != nil {
			out += err.Error()
		}
		fmt.Fprintf(&b, "--- %s\n%s\n", title, strings.TrimSpace(out))
	}
	section("pods", "get", "pods", "-o", "wide")
	section("events", "get", "events", "--sort-by=.lastTimestamp", "-o",
		"custom-columns=AT:.lastTimestamp,ON:.involvedObject.name,REASON:.reason,MESSAGE:.message")
	names, _ := s.try(20*time.Second, "get", "pods", "-o", "name")
	for i, name := range strings.Fields(names) {
		if i < 8 {
			section("log of "+name, "logs", name, "--all-containers", "--tail=60")
		}
	}
	// Print it at once: in the test's own log it would come after the assertion, and hide it.
	fmt.Printf("--- what %s left\n%s", s.t.Name(), b.String())
}

// record writes the raw numbers of a figure and its row, and logs the row. A row that misses its bar fails the
// test.
func record(t *testing.T, row figure.Row, raw map[string]figure.Series) {
	t.Helper()
	dir, err := figure.Dir()
	require.NoError(t, err)
	row.Log = row.Name
	kept, err := figure.Keep(dir, "make e2e", "e2e-"+row.Name, raw, row)
	require.NoError(t, err)
	t.Log(kept)
	require.NoError(t, figure.Missed(kept))
}

// hangAfter is --hang-after of launchers whose jobs are not idle: long compared to faults, and short compared to
// minutes.
const hangAfter = "20s"

// hangReports has the number of hangs that each launcher has reported so far.
var hangReports struct {
	sync.Mutex
	samples []float64
}

// checkHangs fails the test if a launcher reported a hang. No job here hangs, except the job with that name.
func (s *space) checkHangs() {
	names, err := s.try(time.Minute, "get", "pods", "-l", "muster.dev/role=launcher", "-o", "name")
	if err != nil {
		s.t.Logf("hang reports were not counted: %v", err)
		return
	}
	hangReports.Lock()
	defer hangReports.Unlock()
	for _, name := range strings.Fields(names) {
		log, err := s.try(time.Minute, "logs", name)
		if err != nil || name == "pod/hangs-launcher" {
			continue // it never ran, or its node is lost
		}
		if dir := os.Getenv("MUSTER_OUT"); dir != "" {
			assert.NoError(s.t, hangs.Note(dir, "e2e", s.t.Name()+" "+name, 0, log))
		}
		n := strings.Count(log, " seems to hang: ")
		assert.Zero(s.t, n, "a false hang report of %s:\n%s", name, log)
		hangReports.samples = append(hangReports.samples, float64(n))
	}
	if len(hangReports.samples) > 0 {
		record(s.t, figure.Row{Name: "false hang reports", Op: "==", Bar: 0},
			map[string]figure.Series{"false hang reports": {Samples: hangReports.samples, Reduce: "sum"}})
	}
}
