package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/agent/worker"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
)

const workerHelp = `Usage:
  agent worker [flags]

Runs as PID 1 of a worker's container: waits for the launcher, runs its sessions, reaps.

Examples:
  command: ["/muster/agent", "worker"]      in a pod template
  agent worker --await 10m                  exit with 75 after 10 minutes without a launcher

Flags:
  --await DURATION   how long to wait for a launcher; 0: forever (default 1h).
                     For a launcher that was connected, the lease applies instead.
  --grace DURATION   time between TERM and KILL when the pod is stopped (default: the pod's
                     terminationGracePeriodSeconds minus a fifth, at most 5 s; 25s until a
                     launcher connects); a --grace given to the launcher takes precedence
  --slots N          report N slots to the launcher (MUSTER_SLOTS; default 0: the launcher decides)
  --job NAME         refuse launchers of other jobs (MUSTER_JOB)
  --key-file FILE    also accept launchers that connect by network and hold the other key of
                     the pair, see agent keygen (MUSTER_KEY_FILE; default: none are accepted)
  --listen ADDRESS   listen for them at ADDRESS (MUSTER_LISTEN; default :9378)
  -v                 log more; MUSTER_LOG_FORMAT=json makes each line JSON

Exit codes: 0 the job has ended, or the worker was stopped while idle; 70 launchers can no longer
connect; 75 no launcher connected; 128+n stopped by signal n.
`

func runWorker(args []string) int {
	cfg := worker.Config{
		Job: os.Getenv(names.EnvJob), Version: build.Version(), TerminationLog: names.TerminationLog,
		Await: time.Hour, Grace: names.DefaultGrace,
		KeyFile: os.Getenv(names.EnvKeyFile), Listen: cmp.Or(os.Getenv(names.EnvListen), ":"+strconv.Itoa(names.NetworkPort)),
	}
	err := failure.UnknownVariable("agent worker", os.Environ(), settings.Known())
	if slots := os.Getenv(names.EnvSlots); slots != "" && err == nil {
		if cfg.Slots, err = strconv.Atoi(slots); err != nil {
			err = fmt.Errorf("worker: %s=%q (sets --slots): want a number", names.EnvSlots, slots)
		}
	}
	fs := newFlags("worker")
	fs.DurationVar(&cfg.Await, "await", cfg.Await, "")
	fs.DurationVar(&cfg.Grace, "grace", cfg.Grace, "")
	fs.IntVar(&cfg.Slots, "slots", cfg.Slots, "")
	fs.StringVar(&cfg.Job, "job", cfg.Job, "")
	fs.StringVar(&cfg.KeyFile, "key-file", cfg.KeyFile, "")
	fs.StringVar(&cfg.Listen, "listen", cfg.Listen, "")
	verbose := fs.Bool("v", false, "")
	if code, ok := parse(fs, workerHelp, args, 0, 0); !ok {
		return code
	}
	if err != nil {
		return complain(names.ExitUsage, err)
	}
	fs.Visit(func(f *flag.Flag) { cfg.GraceGiven = cfg.GraceGiven || f.Name == "grace" })
	if cfg.Slots < 0 || cfg.Await < 0 || cfg.Grace < 0 {
		return complain(names.ExitUsage, errors.New("worker: --slots, --await and --grace must not be negative: want 0 or more, as in --slots=4 or --grace=90s"))
	}
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	cfg.Log = newLog(level)
	runtime.GOMAXPROCS(1) // a second thread would take CPU time from a rank in the same cgroup
	code, err := worker.Run(context.Background(), cfg)
	return complain(code, err)
}

// newLog returns the worker's log, on stderr.
func newLog(level slog.Level) *slog.Logger {
	if os.Getenv(names.EnvLogFormat) == names.LogJSON {
		return slog.New(failure.JSONHandler(os.Stderr, level))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
