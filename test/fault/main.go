package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/test/fault/server"
	"github.com/musterhq/muster/test/suite/figure"
)

// longest is the time limit for everything, even on a busy machine.
const longest = 40 * time.Minute

// options are the options of the command.
type options struct {
	seed   uint64
	runs   int
	real   int
	lanes  int
	subset bool
	only   *regexp.Regexp
	parts  string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == farmVerb {
		if err := farmMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "fault farm: "+err.Error())
			os.Exit(1)
		}
		return
	}
	if code, done := inOwnSpace(); done {
		os.Exit(code)
	}
	var o options
	only := ""
	flag.Uint64Var(&o.seed, "seed", 0, "seed of all random choices; 0: a random seed, which is printed")
	flag.IntVar(&o.runs, "runs", 52, "runs of each cell, shared by the transports of its leg")
	flag.IntVar(&o.real, "real", 4, "runs of each cell with `agent worker` and `agent attach` as processes")
	flag.IntVar(&o.lanes, "lanes", 48, "rigs at the same time")
	flag.BoolVar(&o.subset, "subset", false, "4 runs of each cell, and short forms of the rest: for CI")
	flag.StringVar(&only, "only", "", "only cells whose LEG/FAULT/MOMENT matches this regular expression")
	flag.StringVar(&o.parts, "parts", "matrix,detect,resume,mortal,thousand,gateway", "the parts to run")
	flag.Parse()
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	if o.subset {
		o.runs, o.real = 4, 2
	}
	var err error
	if o.only, err = regexp.Compile(only); err == nil {
		err = ownProc()
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fault: "+err.Error())
		os.Exit(1)
	}
}

func run(o options) (err error) {
	klog.SetLogger(logr.Discard()) // the servers log each cut
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	fmt.Printf("seed %d\n", o.seed)
	watchdog := time.AfterFunc(longest, func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		fmt.Fprintf(os.Stderr, "fault: hung: not done after %s\n", longest)
		os.Exit(1)
	})
	defer watchdog.Stop()
	moreFiles()
	dir, err := os.MkdirTemp("", "fault")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	y := &yard{dir: dir}
	if err := y.build(); err != nil {
		return err
	}
	if y.procs, err = startProcs(); err != nil {
		return err
	}
	if y.cluster, err = server.Start(); err != nil {
		return err
	}
	b := &book{dir: out, command: "make fault", subset: o.subset}
	if o.subset {
		b.command = "make fault-ci"
	}
	began := time.Now()
	var errs []error
	for _, part := range []struct {
		name string
		run  func(*yard, options, *book) error
	}{{"matrix", matrix}, {"detect", detect}, {"resume", resume}, {"mortal", mortal}, {"thousand", thousand}, {"gateway", gateways}} {
		if strings.Contains(","+o.parts+",", ","+part.name+",") {
			start := time.Now()
			if err := part.run(y, o, b); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", part.name, err))
			}
			fmt.Printf("%s took %s\n\n", part.name, time.Since(start).Round(time.Second))
		}
	}
	errs = append(errs, cleanly(y, b), b.close())
	fmt.Printf("all parts took %s; seed %d\n", time.Since(began).Round(time.Second), o.seed)
	return errors.Join(errs...)
}

// build builds the binaries that run as processes.
func (y *yard) build() error {
	root, err := figure.Root()
	if err != nil {
		return err
	}
	y.agent, y.child = filepath.Join(y.dir, "agent"), filepath.Join(y.dir, "child")
	for _, b := range []struct{ out, in, pkg string }{{y.agent, root, "./cmd/agent"}, {y.child, filepath.Join(root, "test", "fault"), "./child"}} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", b.out, b.pkg)
		cmd.Dir, cmd.Env = b.in, append(os.Environ(), "CGO_ENABLED=0")
		text, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("build %s: %w: %s", b.pkg, err, text)
		}
	}
	return nil
}

// moreFiles raises the limit of open files if it may. A thousand links hold twelve descriptors each, and twice that
// while they redial.
func moreFiles() {
	const want = 65536
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil && l.Max < want {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: want, Max: want})
	}
}

// book records figures: first the raw numbers, then rows computed from them.
type book struct {
	dir     string
	command string
	subset  bool
	rows    []figure.Row
}

// keep writes raw numbers and records their rows. close reports missed bars.
func (b *book) keep(name string, raw any, rows ...figure.Row) error {
	if b.subset {
		name += "-subset"
		for i := range rows {
			rows[i].Name = "subset: " + rows[i].Name
		}
	}
	kept, err := figure.Keep(b.dir, b.command, name, raw, rows...)
	for _, row := range kept {
		fmt.Println("  " + row.String())
	}
	b.rows = append(b.rows, kept...)
	return err
}

// close returns an error for missed bars.
func (b *book) close() error { return figure.Missed(b.rows) }

// spaceVar is set inside the PID namespace.
const spaceVar = "FAULT_PID_NAMESPACE"

// inOwnSpace runs this program again as PID 1 of a PID namespace with its own /proc, and returns its exit code.
// There a worker's scan of all processes finds only ours, as in a container, and no process can be left behind. It
// sets done to false inside the namespace, or if the program may not create one.
func inOwnSpace() (code int, done bool) {
	if os.Getenv(spaceVar) != "" || os.Geteuid() != 0 {
		return 0, false
	}
	exe, err := os.Executable()
	if err != nil {
		return 0, false
	}
	runtime.LockOSThread() // the child is killed when its parent thread ends
	cmd := exec.Command(exe, os.Args[1:]...)
	cmd.Env = append(os.Environ(), spaceVar+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); errors.Is(err, unix.EPERM) {
		return 0, false
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "fault: "+err.Error())
		return 1, true
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() <= 0 {
		return 1, true
	}
	return cmd.ProcessState.ExitCode(), true
}

// ownProc mounts the namespace's /proc, in this namespace only.
func ownProc() error {
	if os.Getenv(spaceVar) == "" || os.Getpid() != 1 {
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}
