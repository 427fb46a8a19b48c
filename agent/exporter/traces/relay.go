package traces

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/musterhq/muster/agent/tracecontext"
)

// longestSpan is the length in bytes of the longest line of a Relay.
const longestSpan = 1 << 20

// Relay sends the spans that it reads, one tracecontext.Span a line, until the input ends. Then it sends the
// rest within flush. It sends nothing if the OTEL_ variables ask for no traces. Errors in the variables are
// *failure.Failure.
func Relay(ctx context.Context, input io.Reader, flush time.Duration, o Options) error {
	send, err := newSender(ctx, o)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 0, 4<<10), longestSpan)
	for lines.Scan() {
		var line tracecontext.Span
		if json.Unmarshal(lines.Bytes(), &line) != nil || send == nil {
			continue
		}
		if one, ok := spanOf(line); ok {
			send.span(one)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read spans: %w", err)
	}
	if send == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, flush, fmt.Errorf("not finished within %s", flush))
	defer cancel()
	return send.close(ctx)
}

// spanOf returns the span of a line. It returns false if the line has no valid context.
func spanOf(line tracecontext.Span) (span, bool) {
	self, err := tracecontext.Parse(line.Self, line.State)
	if err != nil {
		return span{}, false
	}
	one := span{name: line.Name, self: self, from: line.From, to: line.To, failed: line.Failed}
	if line.Parent != "" {
		if one.parent, err = tracecontext.Parse(line.Parent, line.State); err != nil || one.parent.Trace != self.Trace {
			return span{}, false
		}
	}
	for key, value := range line.Texts {
		one.attrs = append(one.attrs, attribute.String(key, value))
	}
	for key, value := range line.Numbers {
		one.attrs = append(one.attrs, attribute.Int64(key, value))
	}
	for _, m := range line.Marks {
		added := mark{at: m.At, name: m.Name}
		if m.Detail != "" {
			added.attrs = append(added.attrs, attribute.String(attrDetail, m.Detail))
		}
		one.marks.add(added)
	}
	return one, true
}
