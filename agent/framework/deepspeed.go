package framework

import (
	"fmt"
	"strconv"
)

// DeepSpeed prepares DeepSpeed's own launcher, which runs in the launcher and
// reaches the workers over pdsh or an mpirun, or the script itself, which reads
// what PyTorch reads.
type DeepSpeed struct{}

// Prepare implements Framework. Options that the user has given are left as they
// are. --master_addr spares the launcher `ssh HOST hostname -I`, whose first
// address may be of another interface; --force_multi has it use a single worker,
// where it would train in the launcher. Errors: see [Cluster] and [Torch].
func (DeepSpeed) Prepare(c Cluster) (Launch, error) {
	cmd := recognise(c.Command)
	if cmd.framework != "deepspeed" {
		launch, err := prepareTorch(c)
		if err != nil {
			return Launch{}, fmt.Errorf("prepare deepspeed: %w", err)
		}
		return launch, nil
	}
	launch, err := MPI{}.Prepare(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare deepspeed: %w", err)
	}
	launch.Shims = true
	launch.Argv = cmd.insert(c.Command, deepspeedOptions(c)...)
	if c.Fake { // MPI itself needs none there
		launch.Env = append(launch.Env, c.launcherSockets()...)
	}
	return launch, nil
}

func deepspeedOptions(c Cluster) []string {
	words := c.Command
	var options []string
	if !has(words, "-H", "--hostfile") {
		options = append(options, "--hostfile", c.Hostfile)
	}
	if !has(words, "--master_addr") {
		options = append(options, "--master_addr", c.Workers[0].address())
	}
	if !has(words, "--master_port") {
		options = append(options, "--master_port", strconv.Itoa(c.Port+portMeet))
	}
	if len(c.Workers) == 1 && !has(words, "--force_multi") {
		options = append(options, "--force_multi")
	}
	return options
}
