package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/exporter/traces"
	"github.com/musterhq/muster/agent/timeline"
	"github.com/musterhq/muster/agent/tracecontext"
)

// caller is the place in a trace that the run joins.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	caller      = "00-" + callerTrace + "-" + callerSpan + "-01"
)

// limit is how long the collector may take to be ready, and to write what it got.
const limit = time.Minute

func main() {
	log.SetFlags(0)
	show := flag.Bool("print", false, "print every span that the collector got")
	sendFile := flag.String("send", "", "send the events of this file, by the variables (for this program itself)")
	flag.Parse()
	if err := run(*show, *sendFile); err != nil {
		log.Fatal(err)
	}
}

func run(show bool, sendFile string) error {
	if sendFile != "" {
		return send(sendFile)
	}
	dir, err := os.MkdirTemp("", "traces")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	events, err := launch(dir)
	if err != nil {
		return err
	}
	if err := command("go", "-C", "test/lab/traces/collector", "build", "-o", filepath.Join(dir, "collector"), ".").Run(); err != nil {
		return fmt.Errorf("build the collector: %w", err)
	}
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		got, err := collect(filepath.Join(dir, strings.ReplaceAll(protocol, "/", "-")), dir, protocol)
		if err != nil {
			return fmt.Errorf("%s: %w", protocol, err)
		}
		if show {
			print(got, callerSpan, "")
		}
		if err := compare(got, timeline.Build(events, time.Time{})); err != nil {
			return fmt.Errorf("%s: %w", protocol, err)
		}
		fmt.Printf("%s: the collector got %d spans, which are those of the timeline\n", protocol, len(got))
	}
	return nil
}

// command returns a command whose output is ours.
func command(name string, arg ...string) *exec.Cmd {
	c := exec.Command(name, arg...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c
}

// launch runs fake workers: a worker is killed, and a spare takes its place.
func launch(dir string) ([]event.Event, error) {
	for _, name := range []string{"agent", "launcher"} {
		out := map[string]string{"agent": "agent", "launcher": "agent-launcher"}[name]
		if err := command("go", "build", "-tags", "grpcnotrace", "-o", filepath.Join(dir, out), "./cmd/"+name).Run(); err != nil {
			return nil, fmt.Errorf("build %s: %w", out, err)
		}
	}
	file := eventsOf(dir)
	c := command(filepath.Join(dir, "agent"), "run", "--fake=3", "--spares=1", "--framework=plain", "--max-restarts=1", "--fake-fault=kill worker=1 after=1s",
		"--events="+file, "--", "sleep", "2")
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("agent run: %w", err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	events, _, err := event.Read(f)
	return events, err
}

func eventsOf(dir string) string { return filepath.Join(dir, "events.jsonl") }

// collect starts a collector, sends the events to it from another process, and returns the spans that it
// got. base is the beginning of its files.
func collect(base, dir, protocol string) (spans []arrived, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	listener.Close()
	out := base + ".jsonl"
	key := map[string]string{"grpc": "grpc", "http/protobuf": "http"}[protocol]
	config := fmt.Sprintf("yaml:{receivers: {otlp: {protocols: {%s: {endpoint: %q}}}}, exporters: {file: {path: %q}}, service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [file]}}}}", key, address, out)
	collector := exec.Command(filepath.Join(dir, "collector"), "--config", config)
	words, err := os.Create(base + ".log")
	if err != nil {
		return nil, err
	}
	defer words.Close()
	collector.Stdout, collector.Stderr = words, words
	if err := collector.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = collector.Process.Signal(os.Interrupt)
		err = errors.Join(err, collector.Wait())
	}()
	if err := listens(address); err != nil {
		text, _ := os.ReadFile(base + ".log")
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	place, err := tracecontext.Start(func(name string) string {
		return map[string]string{tracecontext.EnvParent: caller, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + address}[name]
	})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sender := command(self, "-send", eventsOf(dir))
	sender.Env = append(place.Exporter(os.Environ()), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
	if err := sender.Run(); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return read(out)
}

// listens waits until something listens.
func listens(address string) error {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		if time.Since(began) > limit {
			return fmt.Errorf("the collector does not listen: %w", err)
		}
	}
}

// send is the process that sends the events of a file.
func send(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	events, _, err := event.Read(f)
	if err != nil {
		return err
	}
	sink, err := traces.New(context.Background(), traces.Options{Warn: func(err error) { log.Print(err) }})
	if err != nil {
		return err
	}
	for _, e := range events {
		sink.Take(e)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return sink.Close(ctx)
}

// arrived is a span in the collector's file.
type arrived struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  json.Number
	Attributes                          []struct {
		Key   string
		Value map[string]any
	}
	Events []struct{ Name string }
	Status struct{ Message string }
}

func (a arrived) took() time.Duration {
	return time.Duration(number(a.EndTimeUnixNano) - number(a.StartTimeUnixNano))
}

func number(n json.Number) int64 {
	i, _ := n.Int64() // the collector writes only numbers
	return i
}

// attr returns the text of an attribute, or "".
func (a arrived) attr(key string) string {
	for _, one := range a.Attributes {
		if one.Key == key {
			for _, value := range one.Value {
				return fmt.Sprint(value)
			}
		}
	}
	return ""
}

// read returns the spans in the collector's file.
func read(file string) (spans []arrived, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var one struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []arrived } }
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		for _, r := range one.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans = append(spans, s.Spans...)
			}
		}
	}
	return spans, nil
}
