package framework

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpelled(t *testing.T) {
	for name, want := range map[string]string{
		"pytorch": "torch", "PyTorch": "torch", "pytorchjob": "torch", "torch": "torch", "TORCH": "torch", "torchrun": "torch",
		"tf": "tensorflow", "TFJob": "tensorflow", "tensorflow": "tensorflow", "open-mpi": "openmpi", "Intel_MPI": "intelmpi", "mpirun": "mpi",
		"mpijob": "mpi", "xgb": "xgboost", "lgbm": "lightgbm", "none": "plain", "auto": "auto", "Auto": "auto", "": "",
		"plugin:PyTorch": "plugin:PyTorch", "caffe": "caffe",
	} {
		require.Equal(t, want, Spelled(name), name)
	}
}

func TestScript(t *testing.T) {
	for _, tc := range []struct {
		argv       []string
		path, text string
	}{
		{[]string{"python", "train.py", "--lr", "1"}, "train.py", ""},
		{[]string{"env", "A=1", "/usr/bin/python3.11", "-u", "-X", "dev", "a/train.py"}, "a/train.py", ""},
		{[]string{"./train.py", "x"}, "./train.py", ""},
		{[]string{"python3", "-c", "import os"}, "", "import os"},
		{[]string{"python3", "-uc", "import os"}, "", "import os"},
		{[]string{"python3", "-m", "train"}, "", ""},
		{[]string{"python3"}, "", ""},
		{[]string{"bash", "train.sh"}, "", ""},
		{nil, "", ""},
	} {
		path, text := Script(tc.argv)
		require.Equal(t, tc.path, path, "%q", tc.argv)
		require.Equal(t, tc.text, text, "%q", tc.argv)
	}
	for text, want := range map[string]string{
		`rank = int(os.environ["RANK"])`:              "torch",
		"dist.init_process_group('gloo')":             "torch",
		"os.environ['WORLD_SIZE']":                    "torch",
		"tf.distribute.MultiWorkerMirroredStrategy()": "tensorflow",
		"jax.distributed.initialize()":                "jax",
		"os.environ['DMLC_ROLE']":                     "mxnet",
		"print('hello')":                              "",
		"RANKING = 1":                                 "",
	} {
		require.Equal(t, want, OfScript(text), text)
	}
}
