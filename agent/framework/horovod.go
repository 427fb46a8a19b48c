package framework

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Horovod prepares horovodrun, which runs in the launcher and reaches the workers over ssh (--gloo)
// or mpirun (--mpi). Both call the agent.
type Horovod struct{}

// Prepare implements Framework. It keeps options that the user has given. mpirun can start
// Horovod's ranks too, and then needs only MPI's environment. Errors: see [Cluster]; a script
// without horovodrun.
func (Horovod) Prepare(c Cluster) (Launch, error) {
	launch, err := prepareHorovod(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare horovod: %w", err)
	}
	return launch, nil
}

func prepareHorovod(c Cluster) (Launch, error) {
	cmd := recognise(c.Command)
	launch, err := MPI{}.Prepare(c)
	switch {
	case err != nil || cmd.framework == "mpi":
		return launch, err
	case cmd.framework != "horovod":
		return Launch{}, errors.New("its processes need the server that horovodrun runs: horovodrun " + strings.Join(c.Command, " "))
	}
	launch.Shims = true
	launch.Argv = cmd.insert(c.Command, horovodOptions(c)...)
	if c.Fake { // MPI itself needs none here
		launch.Env = append(launch.Env, c.launcherSockets()...)
	}
	return launch, nil
}

// horovodOptions returns the hosts, the numbers, and the interface, which saves horovodrun a probe
// of every host. A discovery program makes the run elastic.
func horovodOptions(c Cluster) []string {
	words := c.Command
	var options []string
	total, least := 0, 0
	var hosts []string
	for i, w := range c.Workers {
		total += w.Slots
		if i < c.LeastWorkers {
			least += w.Slots
		}
		hosts = append(hosts, w.Host+":"+strconv.Itoa(w.Slots))
	}
	if !has(words, "-np", "--num-proc") {
		options = append(options, "-np", strconv.Itoa(total))
	}
	where := has(words, "-H", "--hosts", "-hostfile", "--hostfile", "--host-discovery-script")
	switch {
	case where:
	case c.LeastWorkers > 0 && c.DiscoverHosts != "":
		options = append(options, "--host-discovery-script", c.DiscoverHosts)
		if !has(words, "--min-np", "--min-num-proc") {
			options = append(options, "--min-np", strconv.Itoa(least))
		}
		if most := c.mostSlots(); most > 0 && !has(words, "--max-np", "--max-num-proc") {
			options = append(options, "--max-np", strconv.Itoa(most))
		}
	default:
		options = append(options, "-H", strings.Join(hosts, ","))
	}
	if name := c.oneInterface(); name != "" && !has(words, "--network-interface", "--network-interfaces") {
		options = append(options, "--network-interfaces", name)
	}
	return options
}

// mostSlots returns the largest number of ranks that an elastic run may have, assuming that each
// new worker has as many slots as the largest current one. It returns 0 if not known.
func (c Cluster) mostSlots() int {
	_, most := c.slots()
	return c.MostWorkers * most
}
