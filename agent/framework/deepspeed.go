package framework

import (
	"fmt"
	"strconv"
)

// DeepSpeed prepares DeepSpeed's launcher, which runs in the launcher and reaches the workers over
// pdsh or mpirun. If the command is the script itself, it prepares the variables of PyTorch, which
// DeepSpeed reads.
type DeepSpeed struct{}

// Prepare implements Framework. It keeps options that the user has given. With --master_addr,
// DeepSpeed does not run `ssh HOST hostname -I`, whose first address may belong to another
// interface. With --force_multi it uses a single worker, instead of training in the launcher.
// Errors: see [Cluster] and [Torch].
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
	if c.Fake { // MPI itself needs none here
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
