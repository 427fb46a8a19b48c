package framework

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScriptsThatCreateAGroup checks which commands run a Python script that creates a process
// group.
func TestScriptsThatCreateAGroup(t *testing.T) {
	files := map[string]string{
		"train.py":      "import torch.distributed as dist\ndist.init_process_group('gloo')\n",
		"asks.py":       "import torch.distributed as dist\nprint(dist.is_available())\n# dist.init_process_group('gloo')\n",
		"defines.py":    "def init_process_group(backend):\n    pass\n",
		"jx.py":         "import jax\njax.distributed.initialize()\n",
		"hvd.py":        "import horovod.torch as hvd\nhvd.init()\n",
		"prepare.py":    "print(1)\n",
		"run.sh":        "#!/bin/bash\nset -e\ncd /x\npython3 prepare.py\nexec python3 train.py --lr 1\n",
		"outer.sh":      "#!/bin/sh\nbash run.sh\n",
		"loop.sh":       "#!/bin/sh\nbash loop.sh\n",
		"exe":           "#!/usr/bin/env python3\nfrom torch.distributed import init_process_group\ninit_process_group('gloo')\n",
		"pkg/train.py":  "init_process_group('gloo')",
		"m/__main__.py": "init_process_group('gloo')",
		"Makefile":      "train:\n\tpython train.py\n",
	}
	read := func(path string) string { return files[path] }
	for _, tc := range []struct {
		argv []string
		want string
	}{
		{[]string{"python", "train.py"}, "torch"},
		{[]string{"python3.11", "-u", "train.py", "--epochs", "3"}, "torch"},
		{[]string{"env", "A=1", "python3", "train.py"}, "torch"},
		{[]string{"./train.py"}, ""}, // no file has that name
		{[]string{"train.py"}, "torch"},
		{[]string{"exe"}, "torch"},
		{[]string{"python", "-m", "pkg.train"}, "torch"},
		{[]string{"python", "-m", "m"}, "torch"},
		{[]string{"python", "-c", "import torch; torch.distributed.init_process_group('gloo')"}, "torch"},
		{[]string{"bash", "-c", "python train.py"}, "torch"},
		{[]string{"bash", "-c", "cd /x && python train.py 2>&1 | tee log"}, "torch"},
		{[]string{"bash", "run.sh"}, "torch"},
		{[]string{"sh", "outer.sh"}, "torch"},
		{[]string{"make", "train"}, "torch"},
		{[]string{"python", "jx.py"}, "jax"},
		{[]string{"python", "hvd.py"}, "horovod"},

		{[]string{"python", "asks.py"}, ""},
		{[]string{"python", "defines.py"}, ""},
		{[]string{"python", "prepare.py"}, ""},
		{[]string{"python", "nosuch.py"}, ""},
		{[]string{"python", "-c", "import torch.distributed; print(torch.distributed.is_available())"}, ""},
		{[]string{"python", "train.py", "--help"}, ""},
		{[]string{"bash", "-c", "python train.py --help"}, ""},
		{[]string{"bash", "-c", "grep init_process_group train.py"}, ""},
		{[]string{"cat", "train.py"}, ""},
		{[]string{"sh", "loop.sh"}, ""},
		{[]string{"hostname"}, ""},
		{[]string{"true"}, ""},
		{[]string{"env"}, ""},
		{nil, ""},
	} {
		require.Equal(t, tc.want, Initialises(tc.argv, read), tc.argv)
	}
}
