//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/program"
)

// cli builds agent-launcher, as users have it on their own machines.
func cli(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, program.Own(dir, nil, "agent-launcher"))
	return filepath.Join(dir, "agent-launcher")
}

// typed is the result of a command line.
type typed struct {
	code     int
	out, err string
}

// agent runs a command line of the agent for the space's namespace.
func (s *space) agent(cli string, limit time.Duration, args ...string) typed {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, cli, append([]string{args[0], "-n", s.name}, args[1:]...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%v: %v", args, err)
	}
	return typed{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// gitServer serves a repository in the space. Its branch dev has the program that the test needs; its branch main
// has not.
func (s *space) gitServer(program string) {
	s.t.Helper()
	script := `set -e; export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main /tmp/train; cd /tmp/train; echo 'exit 9' > train.sh; git add .; git commit -qm one
git checkout -qb dev; printf '%s' "$PROGRAM" > train.sh; git commit -qam two; git checkout -q main
mkdir /tmp/srv; git clone -q --bare . /tmp/srv/train.git
exec git daemon --export-all --base-path=/tmp/srv --reuseaddr`
	s.apply(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "git", "labels": map[string]string{"app": "git"}},
		"spec": map[string]any{"terminationGracePeriodSeconds": 0, "containers": []any{map[string]any{
			"name": "git", "image": image("git"), "imagePullPolicy": "Never", "command": []string{"sh", "-c", script},
			"env":            []any{map[string]any{"name": "PROGRAM", "value": program}},
			"readinessProbe": map[string]any{"tcpSocket": map[string]any{"port": 9418}, "periodSeconds": 1},
		}}},
	}, map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "git"},
		"spec": map[string]any{"selector": map[string]string{"app": "git"}, "ports": []any{map[string]any{"port": 9418}}}})
	s.ready(time.Minute, "git")
}

// claim creates a claim and its volume, which is a directory of the nodes.
func (s *space) claim(name, dir string) {
	s.t.Helper()
	volume := s.name + "-" + name
	size := map[string]string{"storage": "1Gi"}
	s.apply(map[string]any{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": volume},
		"spec": map[string]any{"capacity": size, "accessModes": []string{"ReadWriteMany"}, "storageClassName": "", "persistentVolumeReclaimPolicy": "Retain",
			"claimRef": map[string]string{"namespace": s.name, "name": name}, "hostPath": map[string]string{"path": dir, "type": "DirectoryOrCreate"}}},
		map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"accessModes": []string{"ReadWriteMany"}, "storageClassName": "", "volumeName": volume, "resources": map[string]any{"requests": size}}})
	s.t.Cleanup(func() {
		if _, err := s.try(time.Minute, "delete", "pv", volume, "--wait=false"); err != nil {
			s.t.Log(err)
		}
	})
}

// trainer is what the ranks run. They print where they are and what they see.
const trainer = `echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE in $(pwd) branch dev sees $(cat /data/set) mode=$MODE"
echo "$OMPI_COMM_WORLD_RANK" > /out/rank-$OMPI_COMM_WORLD_RANK
i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ "$OMPI_COMM_WORLD_RANK" != 0 ] || echo "step $i images/sec: 1$i.5 accuracy=0.$i"; done
`

// TestSubmit runs code from a repository, with two volumes and metrics, and with the commands that users type.
func TestSubmit(t *testing.T) {
	t.Parallel()
	s := newSpaceWith(t, "baseline")
	withController(t)
	agent := cli(t)
	s.gitServer(trainer)
	data, out := "/var/tmp/"+s.name+"-data", "/var/tmp/"+s.name+"-out"
	for _, dir := range []string{data, out} {
		require.NoError(t, os.MkdirAll(dir, 0o777))
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	require.NoError(t, os.WriteFile(filepath.Join(data, "set"), []byte("imagenet\n"), 0o644))
	s.claim("data", data)
	s.claim("out", out)
	metrics := filepath.Join(t.TempDir(), "mlpipeline-metrics.json")
	words := []string{"submit", "mpi", "--name=train", "--image=" + image("openmpi"), "--image-pull-policy=IfNotPresent", "--workers=2", "--slots=2",
		"--cpu=100m", "--memory=128Mi", "--env", "MODE=fast", "--env", "GIT_SYNC_BRANCH=dev", "--data=data:/data", "--data=out:/out", "--data=",
		"--sync-mode=git", "--sync-source=git://git." + s.name + "/train.git", "--sync-image=" + image("git"), "--delivery=init"}
	wait := []string{"--wait", "--logs", "--timeout=2m", "--metric", "images/sec", "--metric", "accuracy:PERCENTAGE", "--metrics-file", metrics}
	command := "mpirun sh code/train/train.sh"
	dry := s.agent(agent, time.Minute, append(words, "--dry-run=server", command)...)
	require.Zero(t, dry.code, dry.err)

	began := time.Now()
	end := s.agent(agent, 3*time.Minute, append(append(words, wait...), command)...)
	require.Zero(t, end.code, end.err)
	t.Logf("submit to Succeeded: %.1f s\n%s", time.Since(began).Seconds(), end.err)
	for rank := range 4 {
		require.Regexp(t, fmt.Sprintf(`(?m)rank %d of 4 in /root branch dev sees imagenet mode=fast$`, rank), end.out)
		require.FileExists(t, filepath.Join(out, fmt.Sprintf("rank-%d", rank)))
	}
	require.Contains(t, end.err, "launchjob.muster.dev/train created\n")
	require.Regexp(t, `(?m)^agent: train Succeeded`, end.err)
	text, err := os.ReadFile(metrics)
	require.NoError(t, err)
	require.JSONEq(t, `{"metrics":[{"name":"images-sec","numberValue":13.5,"format":"RAW"},{"name":"accuracy","numberValue":0.3,"format":"PERCENTAGE"}]}`, string(text))

	// The log is read again, the job is shown, and then it is deleted.
	again := s.agent(agent, time.Minute, "logs", "train")
	require.Zero(t, again.code, again.err)
	require.Equal(t, end.out, again.out, "the same log")
	all := s.agent(agent, time.Minute, "logs", "train", "--all", "-c", "code-sync")
	require.Zero(t, all.code, all.err)
	require.Contains(t, all.out, "[launcher] Cloning into")
	require.Contains(t, all.out, "[worker-1] Cloning into")
	require.Regexp(t, `(?m)^train +\S+ +Succeeded +Completed +1 +\S+$`, s.agent(agent, time.Minute, "list").out)
	require.Regexp(t, `(?m)^train-launcher +launcher +- +Completed`, s.agent(agent, time.Minute, "get", "train").out)
	require.Zero(t, s.agent(agent, time.Minute, "top", "job", "train").code)
	require.Zero(t, s.agent(agent, time.Minute, "top", "node").code)

	bad := s.agent(agent, 3*time.Minute, append(append([]string{}, words...), "--name=bad", "--wait", "mpirun sh -c 'exit 7'")...)
	require.Equal(t, 7, bad.code, bad.err)
	none := s.agent(agent, 3*time.Minute, append(append([]string{}, words...), "--name=none", "--env", "GIT_SYNC_BRANCH=nowhere", "--wait", "--timeout=90s", command)...)
	require.NotZero(t, none.code)
	t.Logf("a branch that does not exist: %d\n%s", none.code, none.err)

	pruned := s.agent(agent, time.Minute, "prune", "--older-than", "0s")
	require.Contains(t, pruned.out, `launchjob.muster.dev "train" deleted from `+s.name+" namespace\n")
	gone := s.agent(agent, 2*time.Minute, "delete", "--wait", "none")
	require.Contains(t, gone.out+gone.err, "none")
	require.Eventually(t, func() bool { return len(s.podsOf("train")) == 0 }, time.Minute, time.Second, "the job's pods must be deleted")
}

// TestSubmitRules checks that the API server accepts the jobs that submit makes.
func TestSubmitRules(t *testing.T) {
	s := newSpace(t)
	withController(t)
	files, err := filepath.Glob("../../agent/submit/testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		s.kubectl("apply", "--dry-run=server", "-f", file)
	}
}

// TestSubmitAttach runs a command in a launcher, and checks its exit code and its input.
func TestSubmitAttach(t *testing.T) {
	s := newSpaceWith(t, "baseline")
	withController(t)
	agent := cli(t)
	made := s.agent(agent, time.Minute, "submit", "--name=held", "--image="+image("openmpi"), "--image-pull-policy=IfNotPresent", "--launcher", "--", "sleep", "300")
	require.Zero(t, made.code, made.err)
	s.becomes("held", time.Minute, "running", inPhase(v1alpha1.PhaseRunning))
	end := s.agent(agent, time.Minute, "attach", "held", "--", "sh", "-c", "hostname; exit 5")
	require.Equal(t, 5, end.code, end.err)
	require.Equal(t, "held-launcher\n", end.out)
	end = s.agent(agent, time.Minute, "attach", "held", "--rank", "0", "--", "hostname")
	require.Equal(t, "held-worker-0\n", end.out, end.err)
	// script(1) creates a terminal, and types its input into it.
	shell := exec.Command("script", "-qec", agent+" attach -n "+s.name+" held", "/dev/null")
	shell.Stdin = strings.NewReader("stty rows 33 2>/dev/null; test -t 0 && echo tty=$((6*7)); exit 3\n")
	screen, err := shell.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", screen)
	require.Equal(t, 3, exit.ExitCode(), "%s", screen)
	require.Contains(t, string(screen), "tty=42")
	require.Zero(t, s.agent(agent, time.Minute, "delete", "held", "--wait").code)
	require.Empty(t, s.podsOf("held"))
}

// TestSubmitBreakLogs follows the logs of members while the API server is killed twice. No line may be lost or
// doubled.
func TestSubmitBreakLogs(t *testing.T) {
	s := newSpaceWith(t, "baseline")
	withController(t)
	agent := cli(t)
	const members, lines = 3, 240
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "line $RANK $i"; echo "err $RANK $i" >&2; i=$((i+1)); sleep 0.2; done; printf 'end %%s' $RANK`, lines)
	made := s.agent(agent, time.Minute, "submit", "--name=talk", "--image="+image("openmpi"), "--image-pull-policy=IfNotPresent",
		"--framework=torch", fmt.Sprintf("--workers=%d", members), "--", "sh", "-c", script)
	require.Zero(t, made.code, made.err)
	var end typed
	var following sync.WaitGroup
	following.Go(func() { end = s.agent(agent, 5*time.Minute, "logs", "-f", "--exit-code", "talk") })
	s.becomes("talk", 90*time.Second, "running", inPhase(v1alpha1.PhaseRunning))
	for range 2 {
		time.Sleep(8 * time.Second)
		cluster(t, "apiserver", "restart-after", outagePause)
	}
	following.Wait()
	require.Zero(t, end.code, end.err)
	t.Log(end.err)
	seen := map[string]int{}
	for line := range strings.Lines(end.out) {
		if m := regexp.MustCompile(`^\[worker-(\d)\] (?:line|err|end) (\d).*$`).FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			require.Equal(t, m[1], m[2], line)
			seen[strings.TrimSpace(line)]++
		}
	}
	wrong := []string{}
	for rank := range members {
		for i := range lines {
			for _, word := range []string{"line", "err"} {
				if key := fmt.Sprintf("[worker-%d] %s %d %d", rank, word, rank, i); seen[key] != 1 {
					wrong = append(wrong, fmt.Sprintf("%s: %d times", key, seen[key]))
				}
			}
		}
		if key := fmt.Sprintf("[worker-%d] end %d", rank, rank); seen[key] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s: %d times", key, seen[key]))
		}
	}
	report, err := json.Marshal(wrong)
	require.NoError(t, err)
	require.Empty(t, wrong, "lost or doubled: %s", report)
	t.Logf("%d lines of %d members over two outages of the API server, none lost or doubled", len(seen), members)
	awaitControllers(t)
}

// configFor returns the path of a kubeconfig for a service account of the space.
func (s *space) configFor(account string) string {
	s.t.Helper()
	var config map[string]any
	require.NoError(s.t, json.Unmarshal([]byte(s.kubectl("config", "view", "--raw", "--minify", "-o", "json")), &config))
	user := config["users"].([]any)[0].(map[string]any)
	user["user"] = map[string]string{"token": strings.TrimSpace(s.kubectl("create", "token", account))}
	text, err := json.Marshal(config)
	require.NoError(s.t, err)
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	require.NoError(s.t, os.WriteFile(path, text, 0o600))
	return path
}

// TestSubmitRights checks that the Role of docs/guides/submit.md is enough for every verb, and allows no more than
// the page says. The namespace only admits restricted pods.
func TestSubmitRights(t *testing.T) {
	s := newSpace(t)
	withController(t)
	s.kubectl("create", "serviceaccount", "person")
	s.apply(submitRole(t))
	s.kubectl("create", "rolebinding", "person", "--role=submit-jobs", "--serviceaccount="+s.name+":person")
	agent, config := cli(t), s.configFor("person")
	person := func(args ...string) typed {
		t.Helper()
		return s.agent(agent, 3*time.Minute, append([]string{args[0], "--kubeconfig", config}, args[1:]...)...)
	}
	ok := func(args ...string) typed {
		t.Helper()
		end := person(args...)
		require.Zero(t, end.code, "%v: %s", args, end.err)
		return end
	}
	pods := []string{"--image=" + image("openmpi"), "--image-pull-policy=IfNotPresent", "--restricted", "--run-as-user=1000"}
	said := ok(append(append([]string{"submit", "--name=short", "--workers=2", "--framework=torch", "--wait", "--logs", "--timeout=2m"}, pods...),
		"--", "sh", "-c", "echo rank $RANK as $(id -u)")...)
	require.Contains(t, said.out, "[worker-0] rank 0 as 1000\n")
	require.Contains(t, said.out, "[worker-1] rank 1 as 1000\n")
	require.Contains(t, ok("logs", "--rank", "1", "short").out, "rank 1 as 1000\n")
	require.Contains(t, ok("list").out, "short")
	require.Contains(t, ok("get", "short").out, "short-worker-1")
	require.Contains(t, ok("top", "job").out, "short")
	ok(append(append([]string{"submit", "--name=long", "--launcher"}, pods...), "--", "sleep", "300")...)
	s.kubectl("wait", "--for=condition=Launched", "lj/long", "--timeout=60s")
	require.Equal(t, "long-launcher\n", ok("attach", "long", "--", "hostname").out)
	end := person("scale", "long", "--workers", "3")
	require.Equal(t, names.ExitUsage, end.code, end.err)
	require.Contains(t, end.err, "workers can be changed only in an elastic job")
	ok("delete", "long", "--wait")
	require.Contains(t, ok("prune", "--older-than", "0s").out, `"short" deleted`)
	for _, words := range [][]string{{"list", "-A"}, {"top", "node"}} {
		end := person(words...)
		require.Equal(t, names.ExitForbidden, end.code, end.err)
		require.Contains(t, end.err, "forbidden")
	}
}
