package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Entry is one metric in mlpipeline-metrics.json, which Kubeflow Pipelines reads (its
// backend/api/run.proto, RunMetric).
type Entry struct {
	Name   string  `json:"name"`
	Value  float64 `json:"numberValue"`
	Format Format  `json:"format"`
}

// Limits of Kubeflow Pipelines: bytes of a name, which matches [a-z]([-a-z0-9]*[a-z0-9])?, and
// metrics of a run (its metrics_reporter.go).
const (
	maxEntryName = 63
	maxEntries   = 50
)

// Entries converts the last value of each series to an Entry, in order, with a name that Kubeflow
// Pipelines accepts. notes are sentences for people about a changed name, a metric that was left
// out and why, and a percentage above 1. Percentages are not rescaled.
func Entries(series []Series) (entries []Entry, notes []string) {
	names, owners := validNames(series)
	left := 0
	for i, s := range series {
		switch {
		case s.Count == 0:
			notes = append(notes, s.missing())
			continue
		case math.IsNaN(s.Last) || math.IsInf(s.Last, 0):
			notes = append(notes, fmt.Sprintf("metric %s is not written: JSON cannot express its last value, %s", s.Name, text(s.Last)))
			continue
		case len(entries) == maxEntries:
			left++
			continue
		}
		entries = append(entries, Entry{Name: names[i], Value: s.Last, Format: s.Format})
		notes = append(notes, s.remarks(names[i], owners[i])...)
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("Kubeflow Pipelines accepts %d metrics per run: the last %d are not written", maxEntries, left))
	}
	return entries, notes
}

func (s Series) missing() string {
	if s.Unread > 0 {
		return fmt.Sprintf("metric %s was never seen with a number, only with %q", s.Name, s.Sample)
	}
	return fmt.Sprintf("metric %s was never seen", s.Name)
}

// remarks returns the notes about a metric that is written as name. owner is the metric that
// already has the preferred name.
func (s Series) remarks(name, owner string) []string {
	var notes []string
	if s.Unread > 0 {
		notes = append(notes, fmt.Sprintf("metric %s: %s not a number, as in %q", s.Name, times(s.Unread), s.Sample))
	}
	if name != s.Name {
		note := fmt.Sprintf("metric %s is written as %s: Kubeflow Pipelines accepts [a-z]([-a-z0-9]*[a-z0-9])?, at most %d bytes", s.Name, name, maxEntryName)
		if owner != "" {
			note += fmt.Sprintf(", and %s is that of metric %s", valid(s.Name), owner)
		}
		notes = append(notes, note)
	}
	if s.Format == Percentage && math.Abs(s.Last) > 1 {
		notes = append(notes, fmt.Sprintf("metric %s is a PERCENTAGE of %s: Kubeflow Pipelines shows 0.5 as 50 %%, and this as %s %%", s.Name, text(s.Last), text(s.Last*100)))
	}
	return notes
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// validNames gives each series a unique name. Valid names stay. If other names become equal, all
// but the first get a number. owners lists the metrics that have the names which the numbered ones
// would have had.
func validNames(series []Series) (names, owners []string) {
	names, owners = make([]string, len(series)), make([]string, len(series))
	taken := map[string]string{}
	for i, s := range series {
		if valid(s.Name) == s.Name {
			names[i], taken[s.Name] = s.Name, s.Name
		}
	}
	for i, s := range series {
		if names[i] != "" {
			continue
		}
		name := valid(s.Name)
		owners[i] = taken[name]
		for n := 2; taken[name] != ""; n++ {
			name = numbered(valid(s.Name), n)
		}
		names[i], taken[name] = name, s.Name
	}
	return names, owners
}

// valid converts name to [a-z]([-a-z0-9]*[a-z0-9])? with at most 63 bytes.
func valid(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
			b.WriteRune(r)
		} else if !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	made := strings.Trim(b.String(), "-")
	switch {
	case made == "":
		made = "metric"
	case made[0] < 'a':
		made = "metric-" + made
	}
	return cut(made, maxEntryName)
}

func numbered(name string, n int) string {
	tail := "-" + strconv.Itoa(n)
	return cut(name, maxEntryName-len(tail)) + tail
}

func cut(name string, size int) string {
	return strings.TrimRight(name[:min(len(name), size)], "-")
}

// entryFile is the content of mlpipeline-metrics.json.
type entryFile struct {
	Metrics []Entry `json:"metrics"`
}

// Ours reports whether text is exactly what Encode writes. A metrics file of another program looks
// different.
func Ours(text []byte) bool {
	var file entryFile
	if json.Unmarshal(text, &file) != nil {
		return false
	}
	again, err := Encode(file.Metrics)
	return err == nil && bytes.Equal(again, text)
}

// Encode returns entries as the text of mlpipeline-metrics.json.
func Encode(entries []Entry) ([]byte, error) {
	if entries == nil {
		entries = []Entry{}
	}
	text, err := json.Marshal(entryFile{entries})
	if err != nil {
		return nil, fmt.Errorf("encode metrics: %w", err)
	}
	return append(text, '\n'), nil
}

// text formats a number in the shortest form that can be read back.
func text(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
