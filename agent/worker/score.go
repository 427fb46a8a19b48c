package worker

import (
	"os"

	"github.com/musterhq/muster/exec/names"
)

// RankOOMScore returns the oom_score_adj of ranks. In a container it is 1000, so that the kernel
// kills a rank instead of PID 1; raising it needs no right. Under --fake, and if the agent was
// started by hand, ranks share the machine with the user's other programs. It is then 0, which
// means not to change the score.
func RankOOMScore() int {
	inPod := os.Getenv("KUBERNETES_SERVICE_HOST") != "" || os.Getpid() == 1
	if os.Getenv(names.EnvFake) != "" || !inPod {
		return 0
	}
	return 1000
}
