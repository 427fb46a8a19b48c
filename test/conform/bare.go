//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

const (
	standIn    = "remote-agent" // name of the scripts below
	calledFile = "called"       // made when the agent was called that fails
)

// writeAgent puts a script before the agent that has it run another line
// instead of the daemon: what the worker does is real, its daemon is not there.
func (r *running) writeAgent() (string, error) {
	return r.script(fmt.Sprintf(`host=$1
case " %s " in *" $host "*)
	: >%s
	exec %s rsh "$host" %q ;;
esac
exec %s rsh "$@"
`, r.struck(), filepath.Join(r.home, calledFile), r.agent(), r.event.launch, r.agent()))
}

func (r *running) agent() string { return filepath.Join(r.bin, "agent") }

func (r *running) script(text string) (string, error) {
	path := filepath.Join(r.home, standIn)
	return path, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755)
}

// struck are the hosts of an event of the launch.
func (r *running) struck() string {
	if r.event.all {
		return strings.Join(hosts(), " ")
	}
	return victim
}

func hosts() []string {
	var list []string
	for i := range workers {
		list = append(list, fmt.Sprintf("127.0.0.%d", 2+i))
	}
	return list
}

// bareEnv prepares mpirun without Muster: the same variables, with a script for
// an agent that runs its line here, as a remote shell would there.
func (r *running) bareEnv() ([]string, error) {
	cluster := framework.Cluster{Job: "bare", RunDir: r.home, Fake: true, Root: os.Getuid() == 0,
		Hostfile: filepath.Join(r.home, "hostfile"), HydraHostfile: filepath.Join(r.home, "hostfile.hydra")}
	orte, hydra := "", ""
	for i, host := range hosts() {
		cluster.Workers = append(cluster.Workers, framework.Node{Name: host, Host: host, IP: host, Slots: 1, Index: i})
		orte += host + " slots=1\n"
		hydra += host + ":1\n"
		if err := os.Mkdir(filepath.Join(r.home, host), 0o700); err != nil {
			return nil, err
		}
	}
	for path, text := range map[string]string{cluster.Hostfile: orte, cluster.HydraHostfile: hydra} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	set := ""
	for _, v := range framework.FakeWorker(`"$dir"`) {
		set += fmt.Sprintf("export %s=%s\n", v.Name, v.Value)
	}
	var err error
	if cluster.Agent, err = r.script(r.bareAgent(set)); err != nil {
		return nil, err
	}
	launch, err := framework.MPI{}.Prepare(cluster)
	if err != nil {
		return nil, err
	}
	var env []string
	for _, v := range launch.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	return env, nil
}

func (r *running) bareAgent(set string) string {
	fault := ""
	if r.event.launch != "" {
		fault = fmt.Sprintf("case \" %s \" in *\" $host \"*) : >%s; %s ;; esac\n", r.struck(), filepath.Join(r.home, calledFile), r.event.launch)
	}
	if r.event.stranger != "" {
		fault = "case \"$host\" in " + r.event.stranger + ") exit 255 ;; esac\n"
	}
	return `host=$1; shift
` + fault + `dir=` + r.home + `/$host
` + set + envWhere + `=bare-$host sh -c "$*" &
child=$!
trap 'kill $child' TERM
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
exit $code
`
}
