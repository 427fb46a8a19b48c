package failure

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
)

// JSONLines writes each line as a JSON object: level, time, msg, and "hint": true for a hint. Each
// Write must hold complete lines of text.
type JSONLines struct {
	Out   io.Writer
	Level string // info, warn or error
}

// Write implements io.Writer.
func (j JSONLines) Write(p []byte) (int, error) {
	var all []byte
	for _, line := range strings.Split(strings.TrimRight(string(p), "\n"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, hint := strings.CutPrefix(line, "hint: ")
		object, err := json.Marshal(struct {
			Level string `json:"level"`
			Time  string `json:"time"`
			Msg   string `json:"msg"`
			Hint  bool   `json:"hint,omitempty"`
		}{j.Level, time.Now().Format(time.RFC3339Nano), strings.TrimPrefix(text, "agent: "), hint})
		if err != nil {
			return 0, fmt.Errorf("encode a line: %w", err)
		}
		all = append(append(all, object...), '\n')
	}
	if _, err := j.Out.Write(all); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSONHandler returns a handler for a debug log whose lines have the same keys as those of JSONLines:
// level in small letters, time, msg, and then those of the log.
func JSONHandler(out io.Writer, least slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: least, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.LevelKey {
			a.Value = slog.StringValue(strings.ToLower(a.Value.String()))
		}
		return a
	}})
}
