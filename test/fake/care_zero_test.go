//go:build mpi && care

package fake

import (
	"testing"
)

// TestCareZeroSwallowed: no launcher that swallows a failure ends the run with 0.
func TestCareZeroSwallowed(t *testing.T) {
	t.Parallel()
	dir := swallower(t)
	const (
		pdsh   = "pdsh -f 1024 -w 127.0.0.[2-3] " + rankLine
		strict = "pdsh -S -f 1024 -w 127.0.0.[2-3] " + rankLine
		one    = "ssh 127.0.0.2 'sleep 0.2; exit 0' & ssh 127.0.0.3 'cd /tmp > /dev/null 2>&1 ; HOROVOD_RANK=1 sh -c \"exit 3\"'; wait"
		its    = " said 0, but its session on worker 127.0.0."
	)
	for name, z := range map[string]zero{
		"deepspeed, pdsh":                  {command: []string{"deepspeed", pdsh}, code: 3, says: "deepspeed" + its},
		"deepspeed, pdsh -S":               {command: []string{"deepspeed", strict}, code: 3, says: "deepspeed" + its},
		"deepspeed, ssh":                   {command: []string{"deepspeed", one}, code: 3, says: "deepspeed" + its + "3 exited with 3"},
		"deepspeed, one of two":            {command: []string{"deepspeed", "pdsh -w 127.0.0.[2-3] 'exit %n'"}, code: 1, says: "deepspeed" + its + "3 exited with 1\n"},
		"deepspeed, killed":                {command: []string{"deepspeed", "pdsh -w 127.0.0.2 'exec python3 -c \"import os; os.kill(os.getpid(), 9)\"'"}, code: 137, says: "deepspeed" + its + "2 was killed by SIGKILL"},
		"deepspeed, a worker that is none": {command: []string{"deepspeed", "pdsh -w 127.0.0.2,nohost 'sleep 0.1'"}, code: 255, says: `deepspeed said 0, but its call reached no worker: unknown host "nohost"`},
		"deepspeed, its sessions run on":   {command: []string{"deepspeed", "ssh 127.0.0.2 'sleep 60' </dev/null >/dev/null 2>&1 & sleep 0.5"}, code: 76, says: "deepspeed" + its + "2 still ran when it ended"},
		"deepspeed, nothing started":       {command: []string{"deepspeed", "true"}, code: 76, says: "deepspeed said 0, but it started nothing on any of the 2 workers"},
		"deepspeed, mpirun":                {command: []string{"deepspeed", "mpirun.openmpi -n 2 sh -c 'exit 3'"}, code: 3, says: "deepspeed said 0, but "},
		"deepspeed, a check and the job":   {command: []string{"deepspeed", "ssh 127.0.0.2 hostname -I >/dev/null; " + pdsh + "; pdsh -w 127.0.0.[2-3] rm -f /tmp/none"}, code: 3, says: "deepspeed" + its},
		"deepspeed, a retry failed":        {command: []string{"deepspeed", "ssh 127.0.0.2 'exit 4'; ssh 127.0.0.2 'exit 4'"}, code: 4, says: "deepspeed" + its},
		"deepspeed, it won and failed":     {command: []string{"deepspeed", "for n in 1 2; do ssh 127.0.0.2 '! [ -e $DIR/again ] && touch $DIR/again'; done"}, code: 1, says: "deepspeed" + its},
		"deepspeed, another worker won":    {command: []string{"deepspeed", "ssh 127.0.0.2 'exit 4'; ssh 127.0.0.3 'sleep 0.1'"}, code: 4, says: "deepspeed" + its},
		"deepspeed, its own code":          {command: []string{"deepspeed", pdsh}, env: []string{"SAYS=9"}, code: 9, says: "worker 127.0.0."},
		"deepspeed behind tee":             {command: []string{"bash", "-c", "deepspeed --hostfile=x '" + "pdsh -w 127.0.0.2 exit 3" + "' | tee log"}, code: 3, says: "bash said 0, but deepspeed's session on worker 127.0.0.2 exited with 3"},
		"deepspeed hides its code":         {command: []string{"bash", "-c", "SAYS=3 deepspeed --hostfile=x 'ssh 127.0.0.2 sleep 0.1' | cat"}, code: 3, says: "bash said 0, but deepspeed exited with 3"},
		"horovodrun, ssh":                  {command: []string{"horovodrun", "ssh -o PasswordAuthentication=no 127.0.0.2 -o ConnectTimeout=10 true; " + one}, code: 3, says: "horovodrun" + its + "3 exited with 3"},
		"horovodrun, mpirun":               {command: []string{"horovodrun", "mpirun.openmpi -n 2 sh -c 'exit 3'"}, code: 3, says: "horovodrun said 0, but "},
		"horovodrun, elastic, all failed":  {command: []string{"horovodrun", "--min-np", "1", "ssh 127.0.0.2 'exit 3'; ssh 127.0.0.3 'exit 4'"}, code: 3, says: "horovodrun" + its},
		"pdsh":                             {command: []string{"pdsh", "-w", "127.0.0.[2-3]", "exit 3"}, code: 3, says: "pdsh" + its},
		"pdsh behind timeout":              {command: []string{"timeout", "60", "pdsh", "-w", "127.0.0.[2-3]", "exit 3"}, code: 3, says: "timeout said 0, but pdsh's session on worker 127.0.0."},
		"ray":                              {flags: []string{"--framework=mpi"}, command: []string{"ray", "up", "ssh 127.0.0.2 'nosuchray start --address=x'"}, code: 127, says: "ray" + its},
		"accelerate, deepspeed":            {flags: []string{"--framework=mpi"}, command: []string{"accelerate", "launch", "deepspeed '" + "pdsh -w 127.0.0.2 exit 3" + "'"}, code: 3, says: "accelerate said 0, but deepspeed's session on worker 127.0.0.2 exited with 3"},
		"accelerate":                       {command: []string{"accelerate", "launch", "sleep 1.5; exit 3"}, code: 3, says: "rank "},
		"torchrun":                         {command: []string{"torchrun", "sleep 1.5; exit 3"}, code: 3, says: "rank "},
		"torchrun behind tee":              {command: []string{"bash", "-c", "torchrun 'sleep 1.5; exit 3' | cat"}, code: 3, says: "rank "},
		"mpirun":                           {command: []string{"mpirun", "agent rsh 127.0.0.2 'exit 3'"}, code: 3, says: "mpirun" + its + "2 exited with 3"},
		"mpiexec.hydra":                    {command: []string{"mpiexec.hydra", "agent rsh 127.0.0.2 'exit 3'"}, code: 3, says: "mpiexec.hydra" + its + "2 exited with 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z.judge(t, dir)
		})
	}
}

// TestCareZeroEarned: failures that a launcher gets over, and those that are nobody's work,
// leave the 0.
func TestCareZeroEarned(t *testing.T) {
	t.Parallel()
	dir := swallower(t)
	for name, z := range map[string]zero{
		"checks of DeepSpeed's":      {command: []string{"deepspeed", "ssh -o PasswordAuthentication=no 127.0.0.2 hostname; pdsh -w 127.0.0.[2-3] 'which ninja-none'; pdsh -w 127.0.0.[2-3] 'cd /tmp; sleep 0.1'; pdsh -w 127.0.0.[2-3] pkill -x nothing-like-it"}},
		"checks of Horovod's":        {command: []string{"horovodrun", "ssh 127.0.0.2 'python3 -m horovod.runner.task_fn 1 2 3'; ssh 127.0.0.2 'cd /tmp > /dev/null 2>&1 ; HOROVOD_RANK=1 sh -c \"exit 0\"'"}},
		"a directory, a file":        {command: []string{"pdsh", "-w", "127.0.0.[2-3]", "test -d /none || ls /none"}},
		"a retry won":                {command: []string{"deepspeed", "for n in 1 2; do pdsh -w 127.0.0.[2-3] '[ -e $DIR/again%n ] || { touch $DIR/again%n; exit 3; }'; done"}},
		"the last of three won":      {command: []string{"horovodrun", "for n in 1 2 3; do ssh 127.0.0.2 'echo >>$DIR/tries; [ $(wc -l <$DIR/tries) = 3 ] || exit 255'; done"}},
		"another deepspeed won":      {command: []string{"bash", "-c", "deepspeed --hostfile=x 'ssh 127.0.0.2 exit 3'; deepspeed --hostfile=x 'ssh 127.0.0.2 sleep 0.1'"}},
		"mpirun after deepspeed":     {command: []string{"bash", "-c", "deepspeed --hostfile=x 'ssh 127.0.0.2 exit 3'; mpirun.openmpi -n 1 sleep 0.2"}},
		"autotuning":                 {command: []string{"deepspeed", "--autotuning", "tune", "deepspeed --include=x 'ssh 127.0.0.2 exit 3'"}},
		"an elastic horovodrun":      {command: []string{"horovodrun", "--min-np", "1", "ssh 127.0.0.2 'sleep 0.1'; ssh 127.0.0.3 'exit 3'"}},
		"help":                       {command: []string{"deepspeed", "--help"}},
		"its build":                  {command: []string{"horovodrun", "--check-build", "true"}},
		"a script's own pdsh":        {command: []string{"bash", "-c", "pdsh -w 127.0.0.[2-3] 'exit 3'; true"}},
		"a script's own ssh":         {command: []string{"bash", "-c", "ssh 127.0.0.2 'exit 3'; ssh 127.0.0.2 'exit 4' || true"}},
		"the word of deepspeed":      {flags: []string{"--exit=command"}, command: []string{"deepspeed", "pdsh -w 127.0.0.2 'exit 3'"}},
		"the launcher stopped it":    {command: []string{"deepspeed", "timeout 1 ssh 127.0.0.2 'sleep 60' </dev/null; ssh 127.0.0.3 'sleep 0.1'"}},
		"torchrun started again":     {command: []string{"torchrun", "--max-restarts=1", "sleep 1.5; exit 3\nsleep 0.1"}},
		"torchrun with a second try": {command: []string{"bash", "-c", "torchrun 'sleep 1.5; exit 3'; torchrun 'sleep 1'"}},
		"torchrun, the word of it":   {flags: []string{"--exit=command"}, command: []string{"torchrun", "sleep 1.5; exit 3"}},
		"a helper of a rank":         {command: []string{"torchrun", "sh -c 'sleep 1.5; exit 3'; sleep 0.2; true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z.judge(t, dir)
		})
	}
}
