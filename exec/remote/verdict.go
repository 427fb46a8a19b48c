package remote

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
)

// Values on PodExec's error channel since v4, from k8s.io/apimachinery pkg/util/remotecommand.
const (
	reasonExitCode = "NonZeroExitCode"
	causeExitCode  = "ExitCode"
)

// internalError is the start of the message of a metav1 InternalError.
const internalError = "Internal error occurred: "

// Exit codes with which Docker and shells report a command that could not be run.
const (
	exitNotRunnable = 126
	exitNotFound    = 127
)

// verdict converts what came on the error channel. It never means success: at best the stream has
// ended. stderr is the attach's last output.
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
	if t.agentMissing(s.Message) {
		return t.noAgent(s.Message)
	}
	// Each server on the way prepends the same words.
	message := s.Message
	for strings.HasPrefix(message, internalError) {
		message = strings.TrimPrefix(message, internalError)
	}
	return &link.DialError{Kind: link.Server, Err: withStderr(fmt.Errorf("exec into %s: %s", t, message), stderr)}
}

// noAgent returns an AgentMissingError with the part of a runtime's message after the agent's path.
func (t Target) noAgent(complaint string) *link.DialError {
	complaint = strings.TrimSuffix(strings.TrimSpace(complaint), ": unknown")
	if _, after, found := strings.Cut(complaint, strconv.Quote(t.Agent)+": "); found {
		complaint = after
	}
	return &link.DialError{Kind: link.AgentMissing, Err: &AgentMissingError{Target: t, Complaint: complaint}}
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
	err := withStderr(fmt.Errorf("%s attach in %s exited with code %d", t.Agent, t, code), stderr)
	switch {
	case code == exitNotRunnable || code == exitNotFound:
		return t.noAgent(err.Error())
	case code == names.ExitNoWorker:
		return &link.DialError{Kind: link.NoWorker, Err: err}
	case strings.Contains(stderr, "exec format error"):
		// For a binary of another architecture, runc says so on stderr and exits with code 1.
		return t.noAgent(stderr)
	}
	return &link.DialError{Kind: link.Dropped, Err: err}
}

// dropped returns the error for the end of a stream without a verdict, or with "Success".
func (t Target) dropped(cause error, stderr string) *link.DialError {
	err := fmt.Errorf("stream to %s ended", t)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &link.DialError{Kind: link.Dropped, Err: withStderr(err, stderr)}
}

func (t Target) closed() *link.DialError { return t.dropped(net.ErrClosed, "") }

// agentMissing reports whether a runtime's message is about the agent binary. The message must
// contain the binary's path. A runtime that has lost its own files also says "no such file or
// directory", and a redial may help then.
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
