package remote

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/link"
)

// Values of PodExec's error channel since v4, from k8s.io/apimachinery
// pkg/util/remotecommand.
const (
	reasonExitCode = "NonZeroExitCode"
	causeExitCode  = "ExitCode"
)

// Exit codes by which Docker and shells report a command that could not be run.
const (
	exitNotRunnable = 126
	exitNotFound    = 127
)

// verdict reads what came on the error channel. Nothing in it is a success to
// us: at best the stream has ended. stderr is the attach's last output.
func (t Target) verdict(data []byte, stderr string) *link.DialError {
	var s status
	if err := json.Unmarshal(data, &s); err != nil {
		s = status{Status: "Failure", Message: strings.TrimSpace(string(data))}
	}
	if s.Status == "Success" {
		return t.dropped(nil, stderr)
	}
	if s.Reason == reasonExitCode {
		return t.exited(s, stderr)
	}
	kind := link.Server
	if t.agentMissing(s.Message) {
		kind = link.AgentMissing
	}
	return &link.DialError{Kind: kind, Err: withStderr(fmt.Errorf("exec into %s: %s", t, s.Message), stderr)}
}

func (t Target) exited(s status, stderr string) *link.DialError {
	code := -1
	for _, cause := range s.Details.Causes {
		if cause.Type != causeExitCode {
			continue
		}
		if n, err := strconv.Atoi(cause.Message); err == nil {
			code = n
		}
	}
	kind := link.Dropped
	if code == exitNotRunnable || code == exitNotFound {
		kind = link.AgentMissing
	}
	err := fmt.Errorf("%s attach in %s exited with code %d", t.Agent, t, code)
	return &link.DialError{Kind: kind, Err: withStderr(err, stderr)}
}

// dropped is the end of a stream without a verdict, or with "Success".
func (t Target) dropped(cause error, stderr string) *link.DialError {
	err := fmt.Errorf("stream to %s ended", t)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &link.DialError{Kind: link.Dropped, Err: withStderr(err, stderr)}
}

func (t Target) closed() *link.DialError { return t.dropped(net.ErrClosed, "") }

// agentMissing tells whether a runtime's complaint is about the agent binary.
// It must name the binary's path: "no such file or directory" alone also comes
// from a runtime that has lost its own files, which a redial may mend.
func (t Target) agentMissing(message string) bool {
	if !strings.Contains(message, t.Agent) {
		return false
	}
	lower := strings.ToLower(message)
	for _, complaint := range []string{
		"no such file or directory", "executable file not found", "permission denied",
		"exec format error", "not a directory", "is a directory",
	} {
		if strings.Contains(lower, complaint) {
			return true
		}
	}
	return false
}

func withStderr(err error, stderr string) error {
	if stderr = strings.TrimSpace(stderr); stderr == "" {
		return err
	}
	return fmt.Errorf("%w; its last output: %s", err, stderr)
}
