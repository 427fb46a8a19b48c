package tracecontext

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// isSampled reports whether OpenTelemetry's SDK for Go records a trace, by OTEL_TRACES_SAMPLER and
// its argument. A sampler that the SDK does not know counts as the default one.
func isSampled(getenv func(string) string, trace [16]byte, parent Context) bool {
	name := strings.ToLower(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER")))
	rule, parentDecides := strings.CutPrefix(name, "parentbased_")
	known := rule == "always_on" || rule == "always_off" || rule == "traceidratio"
	if parent.Valid() && (parentDecides || !known) {
		return parent.Sampled()
	}
	switch rule {
	case "always_off":
		return false
	case "traceidratio":
		ratio, err := strconv.ParseFloat(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER_ARG")), 64)
		if err != nil || ratio < 0 || ratio >= 1 {
			return true // as the SDK does with a bad argument
		}
		return binary.BigEndian.Uint64(trace[8:])>>1 < uint64(ratio*(1<<63))
	}
	return true
}
