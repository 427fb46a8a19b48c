package goodput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// BenchmarkAccount measures the account of a launch of 60 workers: what the goodput adds to a run.
func BenchmarkAccount(b *testing.B) {
	var text bytes.Buffer
	write := json.NewEncoder(&text)
	note := func(seconds float64, kind event.Kind, worker string) { _ = write.Encode(at(seconds, kind, worker)) }
	note(0, event.RunStarted, "")
	for i := range 60 {
		for j, kind := range []event.Kind{event.PodCreated, event.PodScheduled, event.ContainerStarted, event.Linked, event.CommandStarted, event.FirstLine, event.RankEnded} {
			note(float64(j), kind, fmt.Sprint("bert-worker-", i))
		}
	}
	note(20, event.RunEnded, "")
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader()
		if _, err := event.Each(bytes.NewReader(text.Bytes()), r.Take); err != nil {
			b.Fatal(err)
		}
		if r.Account(time.Time{}).Total() == 0 {
			b.Fatal("no account")
		}
	}
}
