package variables

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

// Section has the variables of one way to start a program.
type Section struct {
	Title   string
	Command string // what a user types; "": nothing
	Rows    []Row
}

// Row is a variable that Muster sets.
type Row struct {
	Name, Example string
	On            string // the processes or pods that have it, and under which condition
	Meaning       string
}

// topic is one way to start a program, and its variants.
type topic struct {
	title, command string
	all            string // all of its processes, in words; "": every process
	ways           []way
	compat         bool // only the variables of --compat
}

// way is a variant of a topic.
type way struct {
	when   string // condition for what the ways before it do not set; "": none
	of     framework.Framework
	words  []string
	roles  string // as in --roles
	change func(*framework.Cluster)
}

// Frameworks returns the sections of all frameworks, those of --compat, and the variables that many
// frameworks share. These are in no section: On names the sections.
func Frameworks() (native, compat []Section, shared []Row, err error) {
	if native, err = run(topics()); err != nil {
		return nil, nil, nil, err
	}
	if compat, err = run(compatTopics()); err != nil {
		return nil, nil, nil, err
	}
	native, shared = share(native)
	native = append(native, Section{Title: "Fake workers", Command: "agent run --fake=2 -- mpirun ./program", Rows: ofFakeWorkers()})
	return native, compat, shared, nil
}

// many is the number of sections from which on a variable is a shared one.
const many = 5

// share moves the variables that many sections have with one meaning.
func share(all []Section) (rest []Section, shared []Row) {
	key := func(r Row) string { return r.Name + "\n" + r.Meaning }
	in := map[string][]string{}
	for _, s := range all {
		for _, r := range s.Rows {
			in[key(r)] = append(in[key(r)], s.Title)
		}
	}
	for _, s := range all {
		s.Rows = slices.DeleteFunc(s.Rows, func(r Row) bool {
			titles := in[key(r)]
			if len(titles) < many {
				return false
			}
			if titles[0] == s.Title {
				r.On = strings.Join(titles, ", ")
				shared = append(shared, r)
			}
			return true
		})
		rest = append(rest, s)
	}
	return rest, shared
}

// run asks the frameworks of each topic.
func run(topics []topic) (all []Section, err error) {
	for _, t := range topics {
		s := Section{Title: t.title, Command: t.command}
		for _, w := range t.ways {
			rows, err := t.rows(w)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.title, err)
			}
			for _, r := range rows {
				if !slices.ContainsFunc(s.Rows, func(have Row) bool { return have.Name == r.Name }) {
					s.Rows = append(s.Rows, r)
				}
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// rows returns the variables of one way, in the order of the framework.
func (t topic) rows(w way) ([]Row, error) {
	c := example(strings.Count(w.roles, ",") + 1)
	c.Command = w.words
	roles, err := framework.ParseRoles(w.roles, len(c.Workers))
	if err != nil {
		return nil, err
	}
	for i, r := range roles {
		c.Workers[i].Role, c.Workers[i].RoleIndex = r.Name, r.Index
	}
	if w.change != nil {
		w.change(&c)
	}
	launch, err := w.of.Prepare(c)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, v := range launch.Env {
		rows = append(rows, rowOf(v, "the command in the launcher", w.when))
	}
	rows = append(rows, t.ofProcesses(launch.Processes, w.when)...)
	if t.compat {
		rows = slices.DeleteFunc(rows, func(r Row) bool { return !strings.HasPrefix(r.Meaning, framework.KubeflowV1+": ") })
	}
	return rows, nil
}

// ofProcesses returns the variables of processes on workers. The last process that has a variable
// gives its example.
func (t topic) ofProcesses(processes []framework.Process, when string) (rows []Row) {
	last, have := map[string]framework.Var{}, map[string][]framework.Process{}
	var order []string
	for _, p := range processes {
		for _, v := range p.Env {
			if len(have[v.Name]) == 0 {
				order = append(order, v.Name)
			}
			last[v.Name], have[v.Name] = v, append(have[v.Name], p)
		}
	}
	for _, name := range order {
		rows = append(rows, rowOf(last[name], t.holders(have[name], processes), when))
	}
	return rows
}

// holders names the processes that have a variable.
func (t topic) holders(have, all []framework.Process) string {
	if len(have) == len(all) {
		if t.all == "" {
			return "every process"
		}
		return t.all
	}
	count := func(list []framework.Process) map[string]int {
		n := map[string]int{}
		for _, p := range list {
			n[p.Role]++
		}
		return n
	}
	ours, total := count(have), count(all)
	var words []string
	for _, role := range slices.Sorted(maps.Keys(ours)) {
		if ours[role] == total[role] {
			words = append(words, "`"+role+"`")
			continue
		}
		for _, p := range have {
			if p.Role == role {
				words = append(words, fmt.Sprintf("`%s` %d", role, p.Index))
			}
		}
	}
	return strings.Join(words, ", ")
}

// rowOf returns the row of a variable.
func rowOf(v framework.Var, on, when string) Row {
	r := Row{Name: v.Name, Example: strings.ReplaceAll(v.Value, framework.FilesDir, "/run/muster/laid-1"), On: on, Meaning: v.Why}
	if v.Name == "OMPI_MCA_plm_rsh_agent" || v.Name == "PRTE_MCA_plm_ssh_agent" {
		r.Example = "/muster/agent rsh" // agent run replaces the value: Open MPI's launchers take several words
	}
	if when != "" {
		r.On += ", " + when
	}
	if len(v.Or) > 0 {
		r.Meaning += "; left out if you set `" + strings.Join(v.Or, "` or `") + "`"
	}
	if v.Extend != "" {
		r.Meaning += "; your own value follows it"
	}
	return r
}

// ofFakeWorkers returns the variables that only fake workers have in their environment.
func ofFakeWorkers() (rows []Row) {
	for _, v := range framework.FakeWorker("/run/muster/fake-1/w0/tmp") {
		rows = append(rows, rowOf(v, "every process of a fake worker", ""))
	}
	return rows
}

// example is the cluster of the examples: two workers, or one for each role.
func example(roles int) framework.Cluster {
	c := framework.Cluster{
		Job: "train", Namespace: "team", RunDir: "/run/muster",
		Launcher: framework.Node{Name: "train-launcher", Host: "10.244.1.9", IP: "10.244.1.9"},
		Agent:    "/run/muster/rsh", Hostfile: "/etc/mpi/hostfile", HydraHostfile: "/etc/mpi/hostfile.hydra",
		DiscoverHosts: "/run/muster/discover_hosts.sh",
		Interface:     "eth0", NoRDMA: true, NoGPU: true, Port: 20000,
	}
	for i := range max(2, roles) {
		ip := fmt.Sprintf("10.244.1.%d", 10+i)
		c.Workers = append(c.Workers, framework.Node{Name: fmt.Sprintf("train-worker-%d", i), Host: ip, IP: ip, Slots: 4, Index: i, Interface: "eth0"})
	}
	return c
}
