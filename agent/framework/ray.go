package framework

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
)

// Ray starts a Ray cluster on the workers with its head on the first, and runs the user's command
// beside the head as the driver.
type Ray struct{}

// Prepare implements Framework. The driver decides; the head and the nodes serve. The head is
// stopped last, because nodes that lose it take a minute to end. Nodes exit with 1 on SIGTERM.
// Errors: see [Cluster]; more than one process per worker; a command that starts a head or a node
// itself.
func (Ray) Prepare(c Cluster) (Launch, error) {
	launch, err := prepareRay(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare ray: %w", err)
	}
	return launch, nil
}

func prepareRay(c Cluster) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, err
	}
	if err := c.rolesAre("ray", "head", "worker"); err != nil {
		return Launch{}, err
	}
	if len(c.ofRole("head")) > 1 {
		return Launch{}, errors.New("more than one worker has the role head")
	}
	if at := program(c.Command); recognise(c.Command).framework == "ray" && slices.Contains(c.Command[at:], "start") {
		return Launch{}, errors.New("the command is ray start, but Muster starts the head and the nodes: give the driver, as in python driver.py")
	}
	nodes := c.nodesByRole("head")
	head := nodes[0].endpoint(c.Port + portMeet)
	var launch Launch
	if c.Procs > 1 {
		launch.Warnings = append(launch.Warnings, fmt.Sprintf("--procs-per-worker=%d has no effect: ray starts its own processes on each worker", c.Procs))
	}
	launch.Processes = []Process{{
		Worker: c.position(nodes[0]), Rank: 0, Role: "driver", Argv: c.Command, Part: Decides, After: head,
		Env: append([]Var{
			{Name: "RAY_ADDRESS", Value: head, Why: "address of the head, which runs on the same worker"},
			{Name: "RAY_USAGE_STATS_ENABLED", Value: "0", Default: true, Why: "turns off Ray's usage reports"},
		}, rayNode(c, nodes[0])...),
	}}
	for i, n := range nodes[1:] {
		launch.Processes = append(launch.Processes, Process{
			Worker: c.position(n), Rank: -1, Role: "node", Index: i, Part: Serves, After: head,
			Env: rayNode(c, n), Argv: []string{"ray", "start", "--address=" + head, "--node-ip-address=" + n.address(), "--block"},
		})
		apart(c, &launch.Processes[i+1])
	}
	launch.Processes = append(launch.Processes, Process{
		Worker: c.position(nodes[0]), Rank: -1, Role: "head", Part: Serves, Env: rayNode(c, nodes[0]),
		Argv: []string{"ray", "start", "--head", "--node-ip-address=" + nodes[0].address(),
			"--port=" + strconv.Itoa(c.Port+portMeet), "--include-dashboard=false", "--disable-usage-stats", "--block"},
	})
	return launch, nil
}

// apart gives the node of a fake worker its own directory. Otherwise nodes use the head's, and two
// that start at the same time on one machine use each other's sockets.
func apart(c Cluster, p *Process) {
	if c.Fake {
		p.Argv = append(p.Argv, "--temp-dir="+path.Join(c.RunDir, "ray"+strconv.Itoa(p.Index)))
	}
}

// rayNode returns the variables of every process. On a busy machine a head gave up on its own
// raylet after Ray's default of 30 s, though it was listening; the raylet took 25 to 40 s.
func rayNode(c Cluster, n Node) []Var {
	return append([]Var{
		{Name: "RAY_raylet_start_wait_time_s", Value: "120", Default: true, Why: "on a busy node a raylet may need more than Ray's default of 30 s"},
		unbuffered(),
	}, c.sockets(n)...)
}
