//go:build e2e

package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// space is a namespace of one test.
type space struct {
	t    *testing.T
	name string
}

// newSpace makes a namespace that admits nothing but restricted pods, and
// takes it away when the test has ended.
func newSpace(t *testing.T) *space {
	t.Helper()
	return newSpaceWith(t, "restricted")
}

// newSpaceWith chooses the Pod Security level: restricted, baseline, privileged.
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
	// Pods are refused until the controller has made it.
	s.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
	return s
}

// try runs kubectl in the namespace.
func (s *space) try(limit time.Duration, args ...string) (string, error) {
	return kubectlCall{namespace: s.name, limit: limit}.run(args...)
}

// kubectl runs kubectl in the namespace; the test ends if that fails.
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

// close shows what a failed test left, and removes the namespace without
// waiting for it. No worker of any test may have had a token.
func (s *space) close() {
	s.checkTokens()
	s.checkHangs()
	if s.t.Failed() {
		s.show()
		if os.Getenv("MUSTER_E2E_KEEP") != "" {
			s.t.Logf("kept: kubectl --namespace %s get pods", s.name)
			return
		}
	}
	if _, err := s.try(time.Minute, "delete", "namespace", s.name, "--wait=false"); err != nil {
		s.t.Logf("namespace %s stays: %v", s.name, err)
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
	// At once: in the test's own log it would stand behind the assertion, and hide it.
	fmt.Printf("--- what %s left\n%s", s.t.Name(), b.String())
}
