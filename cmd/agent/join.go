package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/join"
	"github.com/musterhq/muster/agent/names"
)

const joinHelp = `Usage:
  agent join [flags] -- COMMAND...

PID 1 of each pod of a job without a launcher: it asks no API server. The members
meet at a barrier that rank 0 serves over TCP, then each starts COMMAND with what
its framework reads (RANK, WORLD_SIZE, MASTER_ADDR...). They end together, with 0,
or with the code of the first that failed. With one member it is a small init.

Examples:
  agent join --workers=4 -- python train.py                  in an Indexed Job or a StatefulSet
  agent join --workers=4 --framework=torch --max-restarts=2 -- python train.py
  agent join --workers=1 -- ./server                         PID 1 and nothing else

Who is who (each flag has a variable: MUSTER_WORKERS for --workers):
  --workers N            members of the job
  --rank N               this one's number, from 0 (default: JOB_COMPLETION_INDEX, MUSTER_POD_INDEX, the end of the host name)
  --coordinator HOST:PORT  rank 0 (default: our own host name with 0 at its end, and the pod's subdomain, port 9377)
  --token-file FILE      the job's token (default: MUSTER_TOKEN), the same for all; not needed for one
  --slots N              slots of this member, told to the others (default 1)

What is started:
  --framework NAME       torch, tensorflow, jax, paddle, xgboost, lightgbm, mxnet, ray, plain (default: by the command, else plain)
  --compat kubeflow-v1   the environment exactly as that operator gave it, faults and all; needs --job
  --job NAME             the job's name (default: MUSTER_JOB)
  --procs-per-worker N   processes of each member (default 1)
  --roles ROLES          the members' roles in their order, as in chief=1,ps=1,worker=2
  --success RULE         whose end decides: auto, all, any, ROLE or ROLE:INDEX
  --env NAME=VALUE       set a variable for them; may be given several times
  --chdir DIR            their working directory
  --interface NAME       network interface that they use (default: the one that holds the pod's address)
  --port N               the first port of those that attempts use (default: chosen anew)

When something fails:
  --timeout DURATION     give up (75) when the members are not all there after this long (default 10m); 0: never
  --lease DURATION       how long rank 0, or a member, may be out of reach while COMMAND runs (default 1m)
  --grace DURATION       between TERM and KILL (default 25s; a LaunchJob gives its pod's)
  --max-restarts N       run the group again, at most N times (default 0)
  --restart-on LIST      exit codes and lost, infra, oom, any (default 130,137,143,lost,infra; +1,-143 changes it)
  --report FILE          write how the job and each of its attempts ended to FILE, as JSON

Exit codes: the command's, of the first member that failed; 64 usage, or a member that contradicts the
others; 75 the members did not come; 76 rank 0 was out of reach, or a member was lost; 128+n told to stop.
`

// list is a flag that may be given several times.
type list []string

func (l *list) String() string         { return strings.Join(*l, ",") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

func runJoin(args []string) int {
	cfg := join.Defaults()
	fs := newFlags("join")
	tokenFile := joinFlags(fs, &cfg)
	wrong := fromEnvironment(fs)
	told := cfg.Grace // by the controller, of a member of a LaunchJob
	if code, ok := parse(fs, joinHelp, args, 0, 1<<20); !ok {
		return code
	}
	if wrong == nil && os.Getenv(names.EnvJob) != "" && os.Getenv(failure.Variable("grace")) != "" {
		wrong = graceFits(cfg.Grace, names.Period(told))
	}
	if wrong != nil {
		return complain(names.ExitUsage, wrong)
	}
	cfg.Command, cfg.Framework = fs.Args(), framework.Spelled(cfg.Framework)
	if err := identify(&cfg, *tokenFile); err != nil {
		return complainOf(err)
	}
	if err := cfg.Validate(); err != nil {
		return complainOf(err)
	}
	say := func(format string, words ...any) { fmt.Fprintf(stderr("info"), "agent: "+format+"\n", words...) }
	code, err := join.Run(context.Background(), cfg, say)
	return complain(code, err)
}

// graceFits refuses a --grace that is longer than the time that the kubelet gives the pod.
func graceFits(grace, period time.Duration) error {
	if grace <= period {
		return nil
	}
	way := fmt.Sprintf("leave --grace away to use %s, or set terminationGracePeriodSeconds: %.0f in the pod's template", names.Grace(period), (grace + 5*time.Second).Seconds())
	return failure.Usage(way, "join: --grace=%s is longer than the %s that this pod has to end", grace, period)
}

// joinFlags binds cfg to flags; the token's file is read later.
func joinFlags(fs *flag.FlagSet, cfg *join.Config) (tokenFile *string) {
	for name, p := range map[string]*int{"rank": &cfg.Rank, "workers": &cfg.Workers, "slots": &cfg.Slots,
		"procs-per-worker": &cfg.Procs, "port": &cfg.Port, "max-restarts": &cfg.MaxRestarts} {
		fs.IntVar(p, name, *p, "")
	}
	for name, p := range map[string]*string{"coordinator": &cfg.Coordinator, "framework": &cfg.Framework, "compat": &cfg.Compat, "roles": &cfg.Roles,
		"success": &cfg.Success, "interface": &cfg.Interface, "chdir": &cfg.Chdir, "restart-on": &cfg.RestartOn, "job": &cfg.Job, "report": &cfg.Report} {
		fs.StringVar(p, name, *p, "")
	}
	for name, p := range map[string]*time.Duration{"timeout": &cfg.Timeout, "lease": &cfg.Lease, "grace": &cfg.Grace} {
		fs.DurationVar(p, name, *p, "")
	}
	fs.Var((*list)(&cfg.Env), "env", "")
	return fs.String("token-file", "", "")
}

// fromEnvironment sets flags by their variables: MUSTER_MAX_RESTARTS for
// --max-restarts. A flag that is given counts instead.
func fromEnvironment(fs *flag.FlagSet) (err error) {
	environ := os.Environ()
	err = failure.UnknownVariable("agent join", environ, names.Variables())
	fs.VisitAll(func(f *flag.Flag) {
		name := failure.Variable(f.Name)
		value := os.Getenv(name)
		if value == "" || f.Name == "env" || failure.IsServiceLink(environ, name, value) {
			return
		}
		if serr := fs.Set(f.Name, value); serr != nil && err == nil {
			err = fmt.Errorf("join: %s=%q, which counts as --%s: it takes %s", name, value, f.Name, failure.Takes(f))
		}
	})
	return err
}

// identify adds what the pod says of itself.
func identify(cfg *join.Config, tokenFile string) (err error) {
	if cfg.Token, err = join.ReadToken(tokenFile, os.Getenv(names.EnvToken)); err != nil {
		return err
	}
	cfg.Host, _ = os.Hostname() // without one, --rank and --coordinator have to say it
	cfg.PodName, cfg.PodIP, cfg.Namespace = os.Getenv(names.EnvPodName), os.Getenv(names.EnvPodIP), os.Getenv(names.EnvNamespace)
	if path, ok := os.LookupEnv("MUSTER_TERMINATION_LOG"); ok {
		cfg.TerminationLog = path
	}
	hosts, _ := os.ReadFile("/etc/hosts") // an image may have none
	return cfg.Identify(os.Getenv, string(hosts))
}

func complainOf(err error) int {
	code := names.ExitUsage
	var f *failure.Failure
	if errors.As(err, &f) {
		code = f.Code
	}
	return complain(code, err)
}
