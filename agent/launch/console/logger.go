package console

import (
	"context"
	"io"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// NewLogger returns the log of what the launcher does, for debugging; people get messages instead.
// The backend is zap: console lines on a terminal, JSON in pods. format and level are from Config.
// tty decides the meaning of the format "auto". Other packages know only log/slog.
//
// If w is a file without room for a line, the line is dropped, and the next line has the number of
// dropped lines. Otherwise a link that waited for the reader of a log would not be redialed.
func NewLogger(w io.Writer, format, level string, tty bool) *slog.Logger {
	if format == "auto" {
		format = "json"
		if tty {
			format = "console"
		}
	}
	enc := zap.NewProductionEncoderConfig()
	enc.TimeKey = "time"
	enc.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	if format == "console" {
		enc.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	min, err := zapcore.ParseLevel(level)
	if err != nil {
		min = zapcore.WarnLevel // Validate has already rejected the word
	}
	return slog.New(&zapHandler{core: zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), min), sink: newSink(w)})
}

// zapHandler passes slog records to zap.
type zapHandler struct {
	core  zapcore.Core
	group string
	sink  *sink
}

func zapLevel(l slog.Level) zapcore.Level {
	switch {
	case l >= slog.LevelError:
		return zapcore.ErrorLevel
	case l >= slog.LevelWarn:
		return zapcore.WarnLevel
	case l >= slog.LevelInfo:
		return zapcore.InfoLevel
	}
	return zapcore.DebugLevel
}

// Enabled implements slog.Handler.
func (h *zapHandler) Enabled(_ context.Context, l slog.Level) bool {
	return h.core.Enabled(zapLevel(l))
}

// Handle implements slog.Handler.
func (h *zapHandler) Handle(_ context.Context, r slog.Record) error {
	if !h.sink.ready() {
		return nil
	}
	fields := make([]zapcore.Field, 0, r.NumAttrs()+1)
	r.Attrs(func(a slog.Attr) bool {
		fields = append(fields, h.field(a))
		return true
	})
	if n := h.sink.dropped.Swap(0); n > 0 {
		fields = append(fields, zap.Int64("dropped", n))
	}
	return h.core.Write(zapcore.Entry{Level: zapLevel(r.Level), Time: r.Time, Message: r.Message}, fields)
}

// WithAttrs implements slog.Handler.
func (h *zapHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := make([]zapcore.Field, 0, len(attrs))
	for _, a := range attrs {
		fields = append(fields, h.field(a))
	}
	return &zapHandler{core: h.core.With(fields), group: h.group, sink: h.sink}
}

// WithGroup implements slog.Handler.
func (h *zapHandler) WithGroup(name string) slog.Handler {
	return &zapHandler{core: h.core, group: h.group + name + ".", sink: h.sink}
}

func (h *zapHandler) field(a slog.Attr) zapcore.Field {
	v := a.Value.Resolve()
	if err, ok := v.Any().(error); ok {
		return zap.String(h.group+a.Key, err.Error())
	}
	if v.Kind() == slog.KindDuration {
		return zap.Duration(h.group+a.Key, v.Duration())
	}
	return zap.Any(h.group+a.Key, v.Any())
}
