//go:build pypi

package pipelines

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/test/suite/program"
)

const component = "../../../images/pipelines/component.yaml"

// TestCompile checks that both SDKs load the file and make the same command line of it.
func TestCompile(t *testing.T) {
	arguments := map[string]any{
		"name": "train", "image": "registry.example.com/pi:1", "workers": 3, "gpus": 2, "cpu_limit": "4", "rdma": true,
		"command": `python train.py --note "it's $HOME; {{x}}" -- 7`, "env": []string{"A=1 2", `B="q",'r'`, "C=ü"},
		"data": []string{"corpus:/data", "models:/models"}, "metrics": []string{"loss", "acc:PERCENTAGE"}, "timeout_hours": 2,
	}
	versions := map[string]string{"kfp1": "1.8.22", "kfp2": "2.17.0"}
	metrics := map[string]string{"kfp1": "mlpipeline-metrics", "kfp2": "system.Metrics"}
	for _, sdk := range SDKs {
		t.Run(sdk, func(t *testing.T) {
			step, err := Compile(t.Context(), sdk, component, arguments)
			require.NoError(t, err)
			require.Equal(t, versions[sdk], step.SDK)
			require.Equal(t, "ghcr.io/musterhq/muster-agent:dev", step.Image)
			require.Equal(t, []string{"/agent", "submit", "mpijob", "--pipelines"}, step.Command)
			require.Equal(t, metrics[sdk], step.Metrics)

			value := map[string]string{}
			words := step.Args[:len(step.Args)-2]
			require.Zero(t, len(words)%2)
			for pair := range slices.Chunk(words, 2) {
				require.Regexp(t, `^--[a-z-]+$`, pair[0])
				require.NotContains(t, value, pair[0])
				value[pair[0]] = pair[1]
			}
			require.Equal(t, []string{"--", arguments["command"].(string)}, step.Args[len(words):], "one argument, unchanged")
			require.NotContains(t, strings.Join(words, " "), "{{", "a placeholder was not replaced")
			for flag, want := range map[string]string{"--name": "train", "--image": "registry.example.com/pi:1", "--workers": "3", "--gpus": "2",
				"--cpu": "4", "--memory": "0", "--sync-source": "", "--timeout-hours": "2"} {
				require.Equal(t, want, value[flag], flag)
			}
			require.Equal(t, []string{"true", "false"}, []string{strings.ToLower(value["--rdma"]), strings.ToLower(value["--tensorboard"])})
			for flag, want := range map[string]any{"--env": arguments["env"], "--data": arguments["data"], "--metric": arguments["metrics"], "--annotation": []string{}} {
				var list []string
				require.NoError(t, json.Unmarshal([]byte(value[flag]), &list), flag)
				require.Equal(t, want, list, flag)
			}
			for output, flag := range map[string]string{"workflow": "--workflow-file", "step": "--step-file", "name": "--name-file"} {
				require.Equal(t, step.Outputs[output], value[flag], output)
				require.NotEmpty(t, value[flag])
			}
			require.Contains(t, step.Outputs, map[string]string{"kfp1": "mlpipeline-metrics", "kfp2": "mlpipeline_metrics"}[sdk])
			require.Contains(t, value["--metrics-file"], "mlpipeline_metrics")
			require.Len(t, step.Outputs, 4)
		})
	}
}

// TestPage checks that both SDKs can compile the example of docs/guides/pipelines.md.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guides/pipelines.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)\n```python\n(.*?)\n```\n").FindSubmatch(page)
	require.NotNil(t, block)
	for _, sdk := range SDKs {
		dir, err := program.Venv(t.Context(), sdk)
		require.NoError(t, err)
		out := filepath.Join(t.TempDir(), "pipeline.yaml")
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "python3"), "-c",
			string(block[1])+"\nfrom kfp import compiler\ncompiler.Compiler().compile(training, "+strconv.Quote(out)+")\n")
		cmd.Dir = "../../../images/pipelines"
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", sdk, said)
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Contains(t, string(text), "mpirun python3 train.py")
	}
}

// TestDefaults checks that the defaults are those of arena's mpi_job_op.
func TestDefaults(t *testing.T) {
	text, err := os.ReadFile(component)
	require.NoError(t, err)
	var file struct {
		Inputs []struct{ Name, Default string }
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	var found []string
	for _, input := range file.Inputs {
		found = append(found, input.Name+"="+input.Default)
	}
	require.Equal(t, []string{"name=", "image=", "command=", "workers=1", "gpus=0", "cpu_limit=0", "memory_limit=0", "env=[]", "annotations=[]",
		"data=[]", "sync_source=", "rdma=False", "tensorboard=False", "tensorboard_image=", `metrics=["Train-accuracy:PERCENTAGE"]`,
		"arenaImage=", "timeout_hours=240"}, found, "in the order of its positional arguments")
}
