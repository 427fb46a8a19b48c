package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/test/fault/server"
)

// farmVerb makes this program the far side of many links: the servers and the
// PID 1s. They are a process of their own because a thousand links with both
// sides hold more descriptors than a process may have.
const farmVerb = "farm"

func podName(i int) string { return "w-" + strconv.Itoa(i) }

// farmMain serves N workers below DIR until its stdin ends; it prints the API
// server's address first. An error tells that something was left.
func farmMain(args []string) (err error) {
	klog.SetLogger(logr.Discard())
	if len(args) != 2 {
		return errors.New("farm N DIR")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	y := &yard{dir: args[1]}
	if y.procs, err = startProcs(); err != nil {
		return err
	}
	if y.cluster, err = server.Start(); err != nil {
		return err
	}
	var workers []worker
	for i := range n {
		dir := filepath.Join(y.dir, podName(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		socket := filepath.Join(dir, names.WorkerSocket)
		w, err := y.inProcess(dir, socket)
		if err != nil {
			return err
		}
		workers = append(workers, w)
		y.cluster.Add(&server.Pod{Name: podName(i), Kubelet: y.cluster.Addr(server.Kubelet), Bridge: bridge(socket)})
	}
	fmt.Println(y.cluster.Addr(server.APIServer))
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is the sign
	errs := []error{y.procs.endSessions()}
	for _, w := range workers {
		errs = append(errs, w.close())
	}
	return errors.Join(append(errs, y.clean())...)
}

// farm is that process, seen from the launcher's side.
type farm struct {
	proc  *reap.Process
	stdin *os.File
	addr  string
}

func (y *yard) startFarm(n int) (*farm, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ourOut.Close()
	f := &farm{stdin: ourIn}
	f.proc, err = y.procs.reaper.Start(reap.Spec{Path: exe, Argv: []string{exe, farmVerb, strconv.Itoa(n), filepath.Join(y.dir, "farm")},
		Env: os.Environ(), Files: []*os.File{theirIn, theirOut, os.Stderr}})
	theirOut.Close()
	if err != nil {
		return nil, errors.Join(err, ourIn.Close())
	}
	text, err := bufio.NewReader(ourOut).ReadString('\n')
	f.addr = strings.TrimSpace(text)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start farm: %w", err), f.close())
	}
	return f, nil
}

// close ends the farm; an error tells that it left something.
func (f *farm) close() error {
	f.stdin.Close()
	if st := f.proc.Status(); st.Code != 0 {
		return fmt.Errorf("farm ended with %d", st.Code)
	}
	return nil
}
