package traces

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// mostReports is the number of different warnings of the SDK that are printed. After so many, a user
// knows that something is wrong.
const mostReports = 5

// reporter prints what goes wrong with sending, without secrets, and each warning once.
type reporter struct {
	warn    func(error)
	secrets []string

	mu   sync.Mutex
	said map[string]bool
	last error // of an export
}

// hear makes the SDK report to r. The SDK has one such place in a process.
func (r *reporter) hear() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { r.say(err) }))
	otel.SetLogger(logr.New(complaints{r}))
}

// failed takes the error of an export, and warns if it is the first of an outage.
func (r *reporter) failed(err error, first bool) {
	err = r.clean(err)
	r.mu.Lock()
	r.last = err
	r.mu.Unlock()
	if first {
		r.say(fmt.Errorf("cannot send spans: %w", err))
	}
}

// cause returns the error of the latest export that failed, or err. Without both, spans came faster than
// they could be sent.
func (r *reporter) cause(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.last != nil:
		return r.last
	case err != nil:
		return r.clean(err)
	}
	return errors.New("the queue was full (OTEL_BSP_MAX_QUEUE_SIZE)")
}

// say prints a warning that was not printed yet.
func (r *reporter) say(err error) {
	err = r.clean(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.warn == nil || r.said[err.Error()] || len(r.said) >= mostReports {
		return
	}
	if r.said == nil {
		r.said = map[string]bool{}
	}
	r.said[err.Error()] = true
	r.warn(err)
}

// clean returns err as one line without secrets.
func (r *reporter) clean(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return errors.New(masked(text))
}

// masked returns text with the user and password of each URL in it replaced.
func masked(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		scheme, rest, ok := strings.Cut(word, "://")
		if end := strings.IndexAny(rest, "/?#"); ok && end != 0 {
			host := rest
			if end > 0 {
				host = rest[:end]
			}
			if at := strings.LastIndex(host, "@"); at >= 0 {
				words[i] = scheme + "://***" + rest[at:]
			}
		}
	}
	return strings.Join(words, " ")
}

// leastSecret is the length of the shortest value that is masked. Shorter ones are in every message.
const leastSecret = 4

// secretsOf returns the values of headers in the variables of an environment, as they are and decoded,
// and the words of each.
func secretsOf(environ []string) (secrets []string) {
	add := func(text string) {
		if len(text) >= leastSecret {
			secrets = append(secrets, text)
		}
	}
	for _, kv := range environ {
		name, list, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") || !strings.HasSuffix(name, "HEADERS") {
			continue
		}
		for header := range strings.SplitSeq(list, ",") {
			_, value, named := strings.Cut(header, "=")
			if !named {
				value = header
			}
			add(strings.TrimSpace(value))
			if raw, err := url.PathUnescape(value); err == nil {
				add(strings.TrimSpace(raw))
				for _, word := range strings.Fields(raw) {
					add(word)
				}
			}
		}
	}
	return secrets
}

// complaints implements logr.LogSink. It passes only errors on, without their values: one of them may be
// a header.
type complaints struct{ *reporter }

// Init implements logr.LogSink.
func (complaints) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (complaints) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (complaints) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (c complaints) Error(err error, what string, _ ...any) {
	c.say(fmt.Errorf("OpenTelemetry: %s: %w", what, err))
}

// WithValues implements logr.LogSink.
func (c complaints) WithValues(...any) logr.LogSink { return c }

// WithName implements logr.LogSink.
func (c complaints) WithName(string) logr.LogSink { return c }
