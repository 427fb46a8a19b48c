//go:build pypi

package progress

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// training calls Hugging Face's callback as its Trainer does, without PyTorch: at the beginning, after half of the
// steps, and, after a line of its input, at the end.
const training = `
import sys, time
from types import SimpleNamespace
from transformers.integrations.integration_utils import KubeflowCallback

callback = KubeflowCallback()
state = SimpleNamespace(is_world_process_zero=True, max_steps=5000, global_step=0, epoch=0.0)
callback.on_train_begin(None, state, None)
time.sleep(callback._MIN_UPDATE_INTERVAL + 0.2)  # it reports at most so often
state.global_step, state.epoch = 1200, 0.24
callback.on_log(None, state, None, logs={"loss": 0.25})
callback.on_step_end(None, state, None)
print("half", flush=True)
sys.stdin.readline()
callback.on_train_end(None, state, None)
`

// TestHuggingFace checks that reports of Hugging Face's own callback, from PyPI, are shown in the job's status. Its
// Python is MUSTER_PYTHON.
func TestHuggingFace(t *testing.T) {
	python := os.Getenv("MUSTER_PYTHON")
	require.NotEmpty(t, python, "make huggingface sets MUSTER_PYTHON")
	api := world(t)
	address, _, ca := running(t, api, clock.RealClock{})
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
		return p
	}
	trains := exec.CommandContext(t.Context(), python, write("train.py", training))
	trains.Env = append(os.Environ(), names.EnvTrainerURL+"="+strings.Replace(address, "127.0.0.1", host, 1)+path("hpc", "train"),
		names.EnvTrainerToken+"="+write("token", "train-worker-0\n"), names.EnvTrainerCA+"="+write("ca.crt", string(ca)))
	trains.Stderr = os.Stderr
	in, err := trains.StdinPipe()
	require.NoError(t, err)
	out, err := trains.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, trains.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "half\n", line)
	shows := func(want string) {
		t.Helper()
		job := &v1alpha1.LaunchJob{}
		require.Eventually(t, func() bool {
			require.NoError(t, api.Get(t.Context(), jobKey, job))
			return job.Status.TrainerStatus != nil && *job.Status.TrainerStatus.ProgressPercentage == map[string]int32{"half": 24, "end": 100}[want]
		}, 20*time.Second, 100*time.Millisecond, want)
		if want == "half" {
			require.Regexp(t, `^step 1,200/5,000, ETA \d`, job.Status.Progress)
		}
		require.Contains(t, job.Status.TrainerStatus.Metrics, v1alpha1.TrainerMetric{Name: "loss", Value: "0.25"})
	}
	shows("half")
	_, err = io.WriteString(in, "\n")
	require.NoError(t, err)
	require.NoError(t, trains.Wait())
	shows("end")
}
