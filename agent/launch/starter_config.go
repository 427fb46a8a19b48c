package launch

import (
	"slices"

	"github.com/musterhq/muster/agent/framework"
)

// isRemote reports whether the command is a launcher that does all of its work on workers:
// deepspeed, horovodrun or pdsh. Ray's commands may talk to a cluster that runs already, and
// deepspeed --autotuning starts others.
func (c Config) isRemote() bool {
	says, found := framework.StarterIn(c.Command)
	found = found && !says.Trials && slices.Contains([]string{"deepspeed", "horovod"}, framework.Detect(c.Command))
	meant := c.auto() || slices.Contains([]string{"deepspeed", "horovod"}, framework.Spelled(c.Framework))
	return meant && found || framework.IsProgram(c.Command, pdshName)
}
