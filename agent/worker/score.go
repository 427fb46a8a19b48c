package worker

import (
	"os"

	"github.com/musterhq/muster/exec/names"
)

// RankOOMScore returns the oom_score_adj of ranks: 1000 in a container, so that the kernel
// kills a rank and not PID 1; raising it needs no right. Under --fake, and where the agent
// is started by hand, ranks share the machine with the user's other programs: 0, the score
// is left alone.
func RankOOMScore() int {
	inPod := os.Getenv("KUBERNETES_SERVICE_HOST") != "" || os.Getpid() == 1
	if os.Getenv(names.EnvFake) != "" || !inPod {
		return 0
	}
	return 1000
}
