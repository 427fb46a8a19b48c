package framework

import (
	"fmt"
	"strconv"
)

// paddleServers prepares fleet's parameter-server mode: one process on each worker of role ps or
// server, and Procs on each trainer. Servers wait forever.
func paddleServers(c Cluster) (Launch, error) {
	var serving, training []Node
	for _, n := range c.Workers {
		if n.Role == "ps" || n.Role == "server" {
			serving = append(serving, n)
		} else {
			training = append(training, n)
		}
	}
	if len(training) == 0 {
		return Launch{}, fmt.Errorf("all workers are parameter servers, which never end: give one the role worker or trainer")
	}
	ports := rankPorts{first: c.Port, shared: c.Fake}
	trainers, err := c.seated(&ports, training, c.procs())
	if err != nil {
		return Launch{}, err
	}
	servers, err := c.seated(&ports, serving, 1)
	if err != nil {
		return Launch{}, err
	}
	var launch Launch
	for _, r := range append(trainers, servers...) {
		part, role := Works, "TRAINER"
		if r.node.Role == "ps" || r.node.Role == "server" {
			part, role = Serves, "PSERVER"
		}
		r.byRole()
		r.Env = []Var{
			{Name: "TRAINING_ROLE", Value: role, Why: "role of this process"},
			{Name: "PADDLE_PSERVERS_IP_PORT_LIST", Value: endpoints(servers), Why: "addresses of all parameter servers"},
			{Name: "PADDLE_TRAINER_ENDPOINTS", Value: endpoints(trainers), Why: "addresses of all trainers"},
			{Name: "PADDLE_TRAINERS_NUM", Value: strconv.Itoa(len(trainers)), Why: "number of trainers"},
			{Name: "POD_IP", Value: r.node.address(), Why: "address of this process in these lists, together with PADDLE_PORT"},
			{Name: "PADDLE_PORT", Value: strconv.Itoa(r.port), Why: "port of this process, new for each attempt"},
		}
		if part == Works {
			r.Env = append(r.Env, Var{Name: "PADDLE_TRAINER_ID", Value: strconv.Itoa(r.Rank), Why: "index of this trainer"})
		} else {
			r.Rank, r.Part = -1, Serves
		}
		r.Env = append(append(r.Env, unbuffered()), c.sockets(r.node)...)
		launch.Processes = append(launch.Processes, r.Process)
	}
	return launch, nil
}
