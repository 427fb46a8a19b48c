package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/musterhq/muster/exec/link"
)

// answerLimit limits how much of a refusing answer is read, in bytes. A Status has less than 2 KiB.
const answerLimit = 64 << 10

// refusedError says that the server does not support this streaming protocol. The other protocol
// may work.
type refusedError struct {
	protocol string
	code     int // HTTP status of the answer; 0: no answer
	cause    error
	lasting  bool // the next dial would also be refused
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("upgrade to %s refused: %v", e.protocol, e.cause)
}
func (e *refusedError) Unwrap() error { return e.cause }

// gatewayError is an answer with which a gateway in front of the API server reports that it could not
// pass a request on. It may be an outage, or a gateway that cannot pass this streaming protocol on.
type gatewayError struct{ cause error }

func (e *gatewayError) Error() string { return e.cause.Error() }
func (e *gatewayError) Unwrap() error { return e.cause }

// status has the relevant fields of metav1.Status. The API server sends it as the body of an answer
// and on the error channel of a stream.
type status struct {
	Kind    string `json:"kind"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Code    int    `json:"code"`
	Details struct {
		Causes []struct {
			Type    string `json:"reason"`
			Message string `json:"message"`
		} `json:"causes"`
	} `json:"details"`
}

// answer converts an answer other than 101. It returns a *link.DialError if the answer is a verdict
// on the request, and a *refusedError if the answer only says that the server does not understand
// the upgrade.
//
// A 403 without a Status means the latter. Servers that know the exec subresource but not v5 refuse
// the WebSocket handshake with 400 or 403 and plain text. The API server's own 403 always has a
// Status.
func (t Target) answer(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	_ = resp.Body.Close()
	message, genuine := statusMessage(body)
	if message == "" {
		message = resp.Status
	}
	cause := fmt.Errorf("API server answered %d to exec into %s: %s", resp.StatusCode, t, message)
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		return &link.DialError{Kind: link.Unauthorized, Err: cause}
	case code == http.StatusForbidden && genuine:
		return &link.DialError{Kind: link.Forbidden, Err: &ForbiddenError{Target: t, Message: message}}
	case code == http.StatusNotFound:
		return &link.DialError{Kind: link.NotFound, Err: cause}
	case code >= 300 && code < 400:
		return &link.DialError{Kind: link.Server, Err: fmt.Errorf("%w (redirects are not supported)", cause)}
	case !genuine && (code == http.StatusBadGateway || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout):
		return &link.DialError{Kind: link.Server, Err: &gatewayError{cause}}
	case code == http.StatusTooManyRequests:
		return &link.DialError{Kind: link.Server, Err: cause}
	case code == http.StatusInternalServerError && !genuine:
		return &refusedError{code: code, cause: cause, lasting: false}
	case genuine && (code != http.StatusBadRequest || !strings.Contains(strings.ToLower(message), "upgrade")):
		return &link.DialError{Kind: link.Server, Err: cause}
	}
	return &refusedError{code: resp.StatusCode, cause: cause, lasting: true}
}

// refusedTwice returns the error for a server that understood neither protocol. A plain 403 to both
// is the verdict of a proxy, and not about a handshake.
func (t Target) refusedTwice(first, second *refusedError) *link.DialError {
	err := fmt.Errorf("%w; and %w", first, second)
	if first.code == http.StatusForbidden && second.code == http.StatusForbidden {
		return &link.DialError{Kind: link.Forbidden, Err: &ForbiddenError{Target: t, Message: err.Error()}}
	}
	return &link.DialError{Kind: link.Server, Err: err}
}

// statusMessage returns the message in the body of an answer, and whether the body is a Status. A
// truncated Status still counts: the WebSocket library keeps only 1 KiB.
func statusMessage(body []byte) (message string, genuine bool) {
	var s status
	if json.Unmarshal(body, &s) == nil && s.Kind == "Status" {
		return s.Message, true
	}
	text := strings.TrimSpace(string(body))
	return text, bytes.HasPrefix(body, []byte(`{"kind":"Status"`))
}

var errNoProtocol = errors.New("the API server supports none of our exec protocols")
