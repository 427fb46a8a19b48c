package submit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// stepLine returns the command line of a step with additional arguments.
func stepLine(more ...string) []string {
	return append(append([]string{"mpijob", "--pipelines", "--name", "train", "--image", "img"}, more...), "--", "mpirun ./pi")
}

func TestPipelines(t *testing.T) {
	step := Step{Pod: "pipeline-7-1", Workflow: "pipeline-7"}
	head := []string{"--env=STEP_NAME=pipeline-7-1", "--env=WORKFLOW_NAME=pipeline-7", "mpijob", "--name=train-g26vp", "--image=img"}
	head[3] = "--name=" + jobOf("train", step.Pod)
	for name, c := range map[string]struct{ given, typed []string }{
		"nothing":                     {nil, nil},
		"defaults":                    {[]string{"--gpus", "0", "--cpu", "0", "--memory", "0", "--env", "[]", "--data", "[]", "--sync-source", "", "--rdma", "False", "--tensorboard", "false", "--arena-image", ""}, nil},
		"lists":                       {[]string{"--env", `["A=1 2","B=\"$HOME\""]`, "--data", `["d:/d", ""]`}, []string{"--env=A=1 2", `--env=B="$HOME"`, "--data=d:/d"}},
		"one":                         {[]string{"--metric", "loss:RAW"}, []string{"--metric=loss:RAW"}},
		"version 2":                   {[]string{"--workers", "3.0", "--timeout-hours", "240.0", "--rdma", "true"}, []string{"--workers=3", "--active-deadline=240h", "--rdma"}},
		"half an hour":                {[]string{"--timeout-hours", "0.5"}, []string{"--active-deadline=0.5h"}},
		"git":                         {[]string{"--sync-source", "https://git.example.com/x.git"}, []string{"--sync-mode=git", "--sync-source=https://git.example.com/x.git"}},
		"a metric and its file":       {[]string{"--metric", `["a"]`, "--metrics-file", "/tmp/m"}, []string{"--metric=a", "--metrics-file=/tmp/m"}},
		"no metric":                   {[]string{"--metric", "[]", "--metrics-file", "/tmp/m"}, nil},
		"values that look like flags": {[]string{"--cpu", "--privileged", "--env", `["--x=1"]`}, []string{"--cpu=--privileged", "--env=--x=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Pipelines(stepLine(c.given...), step)
			require.NoError(t, err)
			want := append(append([]string{}, head...), c.typed...)
			require.Equal(t, append(want, "--wait", "--logs", "--delete-on-signal", "--", "mpirun ./pi"), got.Args)
			require.Empty(t, got.Notes)
		})
	}
}

func TestPipelinesOutputs(t *testing.T) {
	got, err := Pipelines(stepLine("--workflow-file", "/w", "--step-file", "/s", "--name-file", "/n", "--metrics-file", "/m", "--tensorboard", "True",
		"--tensorboard-image", "tb:1", "--arena-image", "arena:7"), Step{Pod: "p-1", Workflow: "p"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"/w": "p", "/s": "p-1", "/n": jobOf("train", "p-1"), "/m": "{\"metrics\":[]}\n"}, got.Outputs)
	require.Equal(t, []string{"tensorboard is not started; run your own on the volume with the events",
		"--tensorboard-image=tb:1 is not used", "--arena-image=arena:7 is not used"}, got.Notes)
}

func TestPipelinesCommand(t *testing.T) {
	for given, want := range map[string][]string{
		"mpirun ./pi":                    {"mpirun ./pi"},
		`["mpirun","./my pi"]`:           {"mpirun", "./my pi"},
		"[ -d /data ] && mpirun ./pi":    {"[ -d /data ] && mpirun ./pi"},
		"python train.py -- \"it's\" $X": {"python train.py -- \"it's\" $X"},
	} {
		got, err := Pipelines([]string{"--pipelines", "--name", "x", "--", given}, Step{Pod: "p"})
		require.NoError(t, err)
		require.Equal(t, want, got.Args[len(got.Args)-len(want):])
		require.Equal(t, "--", got.Args[len(got.Args)-len(want)-1])
	}
}

func TestPipelinesRefuses(t *testing.T) {
	for sentence, args := range map[string][]string{
		"missing command: the step has no --":                               {"--pipelines", "--name", "x"},
		"--name: missing value":                                             {"--pipelines", "--name"},
		"the step's command has 2 words, want 1":                            {"--pipelines", "--", "mpirun", "x"},
		"--workers=1.5 is not a number":                                     stepLine("--workers", "1.5"),
		"--gpus=all is not a number":                                        stepLine("--gpus", "all"),
		"--workers=-1 is not a number":                                      stepLine("--workers", "-1"),
		"--rdma=maybe is not true or false":                                 stepLine("--rdma", "maybe"),
		"--env: unexpected end of JSON input":                               stepLine("--env", `["A=1"`),
		"--env: json: cannot unmarshal number into Go value of type string": stepLine("--env", `[1]`),
	} {
		_, err := Pipelines(args, Step{Pod: "p"})
		require.EqualError(t, err, sentence)
	}
}

func TestNamesOfSteps(t *testing.T) {
	one, other := jobOf("train", "pipeline-1"), jobOf("train", "pipeline-2")
	require.NotEqual(t, one, other)
	require.Equal(t, one, jobOf("train", "pipeline-1"))
	require.Regexp(t, `^train-[a-z2-9]{5}$`, one)
	long := jobOf("a-name-of-more-than-forty-characters--------x", "p")
	require.LessOrEqual(t, len(long), mostName)
	require.Regexp(t, `^a-name-of-more-than-forty-characte?r?-[a-z2-9]{5}$`, long)
}

func TestIsStep(t *testing.T) {
	require.True(t, IsStep([]string{"mpijob", "--pipelines", "--name", "x"}))
	require.True(t, IsStep([]string{"--pipelines"}))
	require.False(t, IsStep([]string{"--name", "--pipelines"}), "the value of --name is not a flag")
	require.False(t, IsStep([]string{"mpijob", "--", "--pipelines"}))
	require.False(t, IsStep(nil))
}
