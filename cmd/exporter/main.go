// Command agent-exporter serves metrics of a run for Prometheus, and sends its trace. The launcher starts it
// beside itself if these are wanted, and writes the events of the run to its standard input. It ends when
// the input does.
//
// With a verb (check, upload, fetch) it copies the output of a run to a bucket of S3, or back.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/musterhq/muster/agent/exporter"
	"github.com/musterhq/muster/agent/exporter/metrics"
	"github.com/musterhq/muster/agent/exporter/traces"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
)

// memory is the size in bytes from which on the garbage collector works harder. The launcher's container
// pays for it.
const memory = 64 << 20

func main() {
	debug.SetMemoryLimit(memory)
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// run is main with an exit code. It prints one line for each problem.
func run(args []string, getenv func(string) string, in io.Reader, out, complaints io.Writer) int {
	if len(args) > 0 && bucketVerbs()[args[0]] != nil {
		return runBucket(args[0], args[1:], getenv, in, out, complaints)
	}
	// The end of the input is the end of the run. A signal to the whole container comes before it, and
	// the last events matter most.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	set := flag.NewFlagSet("agent-exporter", flag.ContinueOnError)
	set.SetOutput(complaints)
	address := set.String("metrics-addr", "", "serve metrics at `ADDRESS`, as in :9464")
	spans := set.Bool("spans", false, "send spans of a controller, one JSON object a line on standard input")
	version := set.Bool("version", false, "print the version")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return names.ExitUsage
	}
	if *version {
		fmt.Fprintln(out, build.Identify("agent-exporter", 0, 0).Version)
		return 0
	}
	if *spans {
		return relay(in, complaints)
	}
	var sinks []exporter.Sink
	if *address != "" {
		m := metrics.New(cmp.Or(getenv(names.EnvTraceParent), getenv("TRACEPARENT")))
		sinks = append(sinks, m)
		if _, err := m.Serve(*address); err != nil {
			complain(complaints, err, "choose another --metrics-addr; this run has no metrics")
		}
	}
	traced, err := traces.New(context.Background(), traces.Options{Warn: func(err error) { complain(complaints, err, "") }, Console: complaints})
	var wrong *failure.Failure
	switch {
	case errors.As(err, &wrong):
		complain(complaints, err, wrong.Hint())
	case traced != nil:
		sinks = append(sinks, traced)
	}
	if err := exporter.Run(in, exporter.FlushTime, sinks...); err != nil {
		complain(complaints, err, "")
		return 1
	}
	return 0
}

// relay sends the spans of a controller.
func relay(in io.Reader, complaints io.Writer) int {
	err := traces.Relay(context.Background(), in, exporter.FlushTime, traces.Options{Warn: func(err error) { complain(complaints, err, "") }, Console: complaints})
	var wrong *failure.Failure
	switch {
	case errors.As(err, &wrong):
		complain(complaints, err, wrong.Hint())
		return failure.CodeOf(err)
	case err != nil:
		complain(complaints, err, "")
		return 1
	}
	return 0
}

// complain prints a problem and its hint in one write, because the launcher reads them together.
func complain(to io.Writer, err error, hint string) {
	text := "agent-exporter: " + err.Error() + "\n"
	if hint != "" {
		text += "hint: " + hint + "\n"
	}
	_, _ = io.WriteString(to, text) // nobody else could be told
}
