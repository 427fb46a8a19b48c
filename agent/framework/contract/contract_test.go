package contract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

// commands holds the commands of frameworks that need a special one. The other frameworks get the
// default of Test.
var commands = map[string][]string{
	"horovod":   {"horovodrun", "-np", "2", "python3", "train.py"},
	"deepspeed": {"deepspeed", "train.py"},
	"mpi":       {"mpirun", "./pi"},
	"openmpi":   {"mpirun", "./pi"},
	"mpich":     {"mpiexec.hydra", "./pi"},
	"intelmpi":  {"mpiexec.hydra", "./pi"},
}

func TestEveryFramework(t *testing.T) {
	names := framework.Names()
	require.Greater(t, len(names), 5)
	for _, name := range names {
		if name == framework.Auto {
			continue
		}
		t.Run(name, func(t *testing.T) {
			command := commands[name]
			if command == nil {
				command = []string{"python3", "train.py"}
			}
			TestCommand(t, command, func(t *testing.T) framework.Framework {
				f, err := framework.Named(name)
				require.NoError(t, err)
				return f
			})
		})
	}
}
