//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/await"
)

const (
	stay     = 3           // seconds that ranks sleep
	heldAt   = time.Second // from the last rank's line to the reading of what the running job holds
	apart    = 100 * time.Millisecond
	longest  = 3 * time.Minute
	lineRank = "rank "
)

// sample is one launch, in seconds and MB.
type sample struct {
	First, Last float64 // time of the rank's first line from mpirun's start
	CPU         float64 // of the launcher from mpirun's start to its end
	Whole       float64 // with the time before mpirun's start
	Ready       float64 // time from the launcher's start to mpirun's
	Preflight   float64 // of this, time for the checks of workers; 0 for other contenders
	Held, Peak  float64 // memory; Peak is 0 in rounds whose times count
	Streams     float64 // at the API server while the job runs
	Requests    float64 // per worker, from start to end

	from, to time.Time
}

// script is a contender's script, running in a launcher.
type script struct {
	c      container
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *bufio.Scanner
	stderr *bytes.Buffer
}

// begin starts a contender's script.
func (w *world) begin(ctx context.Context, c contender, workers int) (*script, error) {
	r := &script{c: w.launchers[c.launcher], stderr: &bytes.Buffer{}}
	r.cmd = r.c.enter(ctx, c.line(workers), c.env...)
	if c.launcher == floorPod {
		r.cmd = r.c.outside(ctx, c.line(workers), c.env...)
	}
	stdout, err := r.cmd.StdoutPipe()
	if err == nil {
		r.stdin, err = r.cmd.StdinPipe()
	}
	r.cmd.Stderr = r.stderr
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	r.out = bufio.NewScanner(stdout)
	return r, nil
}

// until reads lines up to the nth that begins with word, and returns the times of the first and
// the nth such line.
func (r *script) until(word string, n int) (first, last time.Time, err error) {
	var other []string
	for seen := 0; r.out.Scan(); {
		if !strings.HasPrefix(r.out.Text(), word) {
			other = append(other, r.out.Text())
			continue
		}
		last = time.Now()
		if seen++; seen == 1 {
			first = last
		}
		if seen == n {
			return first, last, nil
		}
	}
	return first, last, fmt.Errorf("fewer than %d lines %q:\n%s\n%s", n, word, strings.Join(other, "\n"), r.stderr)
}

// tell writes the line that the script waits for: how many seconds its ranks sleep.
func (r *script) tell(seconds int) error {
	_, err := fmt.Fprintln(r.stdin, seconds)
	return errors.Join(err, r.stdin.Close())
}

// end waits for the end of the script.
func (r *script) end() error {
	for r.out.Scan() {
	}
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, r.stderr)
	}
	return nil
}

// launch runs a contender once. A sampled round measures the peak of the launcher's memory, which
// distorts its times.
func (w *world) launch(ctx context.Context, c contender, workers int, sampled bool) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s, %d workers: %w", c.name, workers, err)
		}
	}()
	s.from = time.Now()
	box := w.launchers[c.launcher]
	before, err := box.cpu()
	if err != nil {
		return s, err
	}
	r, err := w.begin(ctx, c, workers)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			cancel()
			_ = r.end() // it fails, because the script was interrupted
		}
	}()
	ready, _, err := r.until("ready", 1)
	if err != nil {
		return s, err
	}
	s.Ready = ready.Sub(s.from).Seconds()
	gotReady, err := box.cpu()
	if err != nil {
		return s, err
	}
	var peak func() (float64, error)
	if sampled {
		peak = sampling(ctx, box)
	}
	told := time.Now()
	if err := r.tell(stay); err != nil {
		return s, err
	}
	first, last, err := r.until(lineRank, workers)
	if err != nil {
		return s, err
	}
	s.First, s.Last = first.Sub(told).Seconds(), last.Sub(told).Seconds()
	if sampled {
		if s.Peak, err = peak(); err != nil {
			return s, err
		}
	}
	if err := w.held(ctx, box, &s); err != nil {
		return s, err
	}
	if err := r.end(); err != nil {
		return s, err
	}
	after, err := box.cpu()
	s.CPU, s.Whole, s.to = after-gotReady, after-before, time.Now()
	if err == nil && c.name == "muster" {
		s.Preflight, err = preflight(box)
	}
	return s, err
}

// preflight reads how many seconds the checks of workers took, from the launcher's report.
func preflight(box container) (float64, error) {
	var r struct {
		MS *int64 `json:"preflight_ms"`
	}
	text, err := os.ReadFile(box.path(reportFile))
	if err != nil {
		return 0, fmt.Errorf("read the launcher's report: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil || r.MS == nil {
		return 0, fmt.Errorf("the launcher's report has no preflight_ms: %w\n%s", err, text)
	}
	return float64(*r.MS) / 1000, nil
}

// held measures memory and streams while the ranks only sleep.
func (w *world) held(ctx context.Context, box container, s *sample) (err error) {
	if err := await.Pause(ctx, heldAt); err != nil {
		return err
	}
	if s.Held, err = box.pss(); err != nil {
		return err
	}
	server, err := w.Server(ctx)
	s.Streams = server.Streams
	return err
}

// sampling samples the memory until the returned function is called, which returns the peak.
func sampling(ctx context.Context, box container) (stop func() (float64, error)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	var peak float64
	go func() {
		for {
			now, err := box.pss()
			peak = max(peak, now)
			select {
			case <-time.After(apart):
			case <-ctx.Done():
				done <- err
				return
			}
		}
	}()
	return func() (float64, error) {
		cancel()
		err := <-done
		return peak, err
	}
}

// contender is one way to launch.
type contender struct {
	name     string
	launcher string // pod
	pid1     []string
	// script gets ready and then runs hold, which replaces %s; %d is the number of workers.
	script string
	env    []string // of mpirun
}

// hold prints "ready", waits for a line with a number, and becomes mpirun. Each rank prints its
// rank and sleeps for that many seconds.
const hold = `echo ready; read -r stay; exec mpirun sh -c 'echo rank $OMPI_COMM_WORLD_RANK; exec sleep '$stay </dev/null`

const (
	kubexecPod = "launch-kubexec"
	slowPod    = "launch-slowdns"
	sshPod     = "launch-ssh"
	musterPod  = "launch-muster"
	floorPod   = "launch-nsenter"
)

// root holds the settings with which mpirun runs as root and does not bind ranks, because the
// pods share the node's cores.
var root = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_hwloc_base_binding_policy=none",
	"OMPI_MCA_orte_default_hostfile=/tmp/hostfile"}

// reportFile is the file of Muster's report.
const reportFile = "/bench/report.json"

// contenders returns the contenders in the order of their turns. They have the settings that the operators
// give to Open MPI. The operators leave Open MPI's tree launch on. Below 65 workers, mpirun starts every
// daemon itself in the tree launch, too.
func contenders() []contender {
	kubexec := contender{
		name: "kubexec", launcher: kubexecPod, pid1: []string{"sleep", "inf"},
		// Each job has a new launcher, whose kubectl has an empty cache.
		script: `rm -rf /root/.kube; /bench/inpod wait -workers %d -hosts && ` + hold,
		env:    append([]string{"OMPI_MCA_plm_rsh_agent=/opt/bench/kubexec.sh"}, root...),
	}
	unknown := kubexec
	unknown.name = "kubexec-unknown"
	unknown.script = `rm -rf /root/.kube; /bench/inpod wait -workers %d -hosts && echo 127.0.0.1 localhost > /etc/hosts && ` + hold
	slow := unknown
	slow.name, slow.launcher = "kubexec-slowdns", slowPod
	return []contender{
		kubexec,
		unknown,
		slow,
		{
			name: "ssh", launcher: sshPod, pid1: []string{"/usr/sbin/sshd", "-De"},
			script: `/bench/inpod wait -workers %d && ` + hold,
			env:    append([]string{"OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10", "OMPI_MCA_orte_keep_fqdn_hostnames=true"}, root...),
		},
		{
			name: "muster", launcher: musterPod, pid1: []string{"/muster/agent", "worker"},
			// The script is named mpirun, because agent run recognizes mpirun by the name.
			script: `printf '#!/bin/sh\n%%s\n' "$HOLD" > /bench/mpirun; chmod 755 /bench/mpirun; exec agent run --keep-workers --job=launch --workers=%d --report=` + reportFile + ` -- /bench/mpirun`,
			env:    []string{"HOLD=" + hold},
		},
		{
			name: "nsenter", launcher: floorPod,
			script: `n=$((256 + 8 * %d)); ulimit -Sn $((n > 1024 ? n : 1024)); ` + hold, // the limit that agent run sets
			env: append([]string{"OMPI_MCA_plm_rsh_agent=/bin/sh /tmp/agent", "OMPI_MCA_plm_rsh_no_tree_spawn=1", "OMPI_MCA_plm_rsh_num_concurrent=128",
				"OMPI_MCA_orte_keep_fqdn_hostnames=0"}, root...),
		},
	}
}

// execFloor is not a launch: it measures the time to open and end an exec for each worker.
const execFloor = "exec"

func names() (all []string) {
	for _, c := range contenders() {
		all = append(all, c.name)
	}
	return append(all, execFloor)
}

// line returns the script for a number of workers.
func (c contender) line(workers int) string { return fmt.Sprintf(c.script, workers) }

// settle is how long after a request's end its line may be missing in the audit log. The line of a watch
// is written when the server notices that the client is gone.
const settle = 2 * time.Second

// count fills in the requests of launches that began after from, by the audit log.
func (w *world) count(ctx context.Context, workers int, from time.Time, all map[string][]sample) error {
	if err := await.Pause(ctx, settle); err != nil {
		return err
	}
	list, err := audit.Since(w.Audit, from)
	if err != nil {
		return err
	}
	for _, c := range contenders() {
		fill(all[c.name], list, "system:serviceaccount:"+w.ns+":"+c.launcher, workers)
	}
	return nil
}

// fill counts a user's requests during each launch.
func fill(samples []sample, list []audit.Request, user string, workers int) {
	for i := range samples {
		n := 0
		for _, r := range list {
			if r.User == user && !r.Received.Before(samples[i].from) && r.Received.Before(samples[i].to) {
				n++
			}
		}
		samples[i].Requests = float64(n) / float64(workers)
	}
}
