package join

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// place is what a member knows about its container.
type place struct {
	dir, temp string // private directory; TMPDIR or ""
	agent     string // path of this binary
	env       []string
}

// launchOf computes what an attempt starts, and where. Every member computes the same from the same
// table.
func (c Config) launchOf(table []barrier.Card, attempt, port int, here place) (framework.Launch, error) {
	f, err := c.framework()
	if err != nil {
		return framework.Launch{}, err
	}
	cluster, err := c.clusterOf(table, attempt, port, here)
	if err != nil {
		return framework.Launch{}, err
	}
	launch, err := f.Prepare(cluster)
	if err == nil {
		err = framework.Startable(launch)
	}
	if err != nil {
		return framework.Launch{}, usage("docs/guides/frameworks.md lists what each framework needs", "%w", err)
	}
	if len(launch.Processes) == 0 {
		return framework.Launch{}, usage("use agent run in the pod of a launcher, and agent worker in the others",
			"%s needs a launcher, because it starts processes on other pods: agent join has none", c.Command[0])
	}
	if launch, err = framework.Decide(launch, c.Success); err != nil {
		return framework.Launch{}, usage("--success=auto leaves it to the framework", "%w", err)
	}
	return launch, nil
}

// rehearse returns an error that any launch of this Config would have, before the members have met.
func (c Config) rehearse() error {
	var table []barrier.Card
	for rank := range c.Workers {
		table = append(table, barrier.Card{Rank: rank, Name: fmt.Sprintf("member %d", rank), Address: fmt.Sprintf("192.0.2.%d", rank%256), Slots: c.Slots})
	}
	_, err := c.launchOf(table, 0, firstPort, place{dir: "/", agent: "/agent"})
	return err
}

func (c Config) clusterOf(table []barrier.Card, attempt, port int, here place) (framework.Cluster, error) {
	cluster := framework.Cluster{
		Job: c.Job, Namespace: c.Namespace, RunDir: here.dir, Agent: here.agent, SharedCores: true, Root: os.Getuid() == 0, Temp: here.temp,
		UserEnv: here.env, Command: c.Command, Below: c.below(), Procs: c.Procs, Port: port, Attempt: attempt,
		NoGPU:  !slices.ContainsFunc(table, func(m barrier.Card) bool { return !m.NoGPU }),
		NoRDMA: !slices.ContainsFunc(table, func(m barrier.Card) bool { return !m.NoRDMA }),
	}
	roles, err := framework.ParseRoles(c.Roles, len(table))
	if err != nil {
		return cluster, usage("--roles assigns roles to the members in order, as in chief=1,worker=2", "%w", err)
	}
	for i, m := range table {
		node := framework.Node{Name: m.Name, Host: m.Host, IP: m.Address, Slots: m.Slots, Index: i, Interface: m.Interface}
		if node.IP == "" {
			node.IP = "127.0.0.1" // a job of one member without an address
		}
		if node.Host == "" {
			node.Host = node.IP
		}
		if roles != nil {
			node.Role, node.RoleIndex = roles[i].Name, roles[i].Index
		}
		cluster.Workers = append(cluster.Workers, node)
	}
	if len(table) > 0 {
		cluster.Launcher = framework.Node{Name: table[0].Name, IP: cluster.Workers[0].IP}
	}
	return cluster, nil
}

// labelOf names a process in sentences, like agent run.
func labelOf(p framework.Process) string {
	if p.Rank >= 0 {
		return fmt.Sprintf("rank %d", p.Rank)
	}
	return fmt.Sprintf("%s %d", p.Role, p.Index)
}

// environment returns the environment of one process. It is the container's without the token, then
// the user's variables for it, then those of its framework that the user has not set. files is the
// directory of the launch's files.
func (c Config) environment(p framework.Process, attempt int, files string, here place) (env, warnings []string) {
	own := append(withoutToken(here.env), c.Env...)
	var user []string
	for _, kv := range own {
		if !strings.HasPrefix(kv, "MUSTER_") {
			user = append(user, kv)
		}
	}
	vars := append(slices.Clone(p.Env), framework.Var{Name: names.EnvAttempt, Value: strconv.Itoa(attempt), Why: "runs of the group before this one"})
	for i := range vars {
		vars[i].Value = strings.ReplaceAll(vars[i].Value, framework.FilesDir, files)
	}
	set, warnings := framework.Merge(user, vars)
	for _, v := range set {
		own = append(own, v.Name+"="+v.Value)
	}
	return proc.LastOfEach(own), warnings
}

// withoutToken removes the job's token.
func withoutToken(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, names.EnvToken+"=") })
}
