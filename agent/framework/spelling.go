package framework

import "strings"

// Spelled returns the --framework name for another spelling of it: "torch" for PyTorch, pytorchjob
// and torchrun. It returns other words unchanged.
func Spelled(name string) string {
	if strings.HasPrefix(name, "plugin:") {
		return name
	}
	word := strings.ToLower(name)
	if _, ok := builtin()[word]; ok || word == Auto {
		return word
	}
	bare := strings.NewReplacer("-", "", "_", "", " ", "").Replace(word)
	bare = strings.TrimSuffix(bare, "job")
	for spelled, others := range map[string][]string{
		"torch":      {"torch", "pytorch", "torchrun", "torchelastic", "ddp", "fsdp", "accelerate", "lightning", "pytorchlightning"},
		"tensorflow": {"tensorflow", "tf", "tf2", "keras"},
		"jax":        {"jax", "flax"},
		"paddle":     {"paddle", "paddlepaddle"},
		"xgboost":    {"xgboost", "xgb"},
		"lightgbm":   {"lightgbm", "lgbm", "lgb"},
		"mxnet":      {"mxnet", "mx"},
		"horovod":    {"horovod", "hvd", "horovodrun"},
		"deepspeed":  {"deepspeed", "ds"},
		"ray":        {"ray"},
		"mpi":        {"mpi", "mpirun", "mpiexec"},
		"openmpi":    {"openmpi", "ompi"},
		"mpich":      {"mpich", "hydra", "mvapich", "mvapich2"},
		"intelmpi":   {"intelmpi", "impi", "intel"},
		"plain":      {"plain", "none", "bare", "generic", "custom"},
	} {
		for _, other := range others {
			if bare == other {
				return spelled
			}
		}
	}
	return name
}

// OfScript returns the framework of a Python script: the first whose distributed calls or variables
// it names, or "".
func OfScript(text string) string {
	for _, f := range []struct {
		name  string
		marks []string
	}{
		{"torch", []string{"torch.distributed", "init_process_group", "MASTER_ADDR", "LOCAL_RANK"}},
		{"tensorflow", []string{"TF_CONFIG", "MultiWorkerMirroredStrategy", "ParameterServerStrategy"}},
		{"jax", []string{"jax.distributed"}},
		{"paddle", []string{"paddle.distributed", "PADDLE_TRAINER"}},
		{"xgboost", []string{"xgboost.collective", "xgb.collective", "DMLC_TRACKER_URI"}},
		{"mxnet", []string{"DMLC_ROLE", "DMLC_PS_ROOT"}},
		{"lightgbm", []string{"LIGHTGBM_"}},
		{"torch", []string{"WORLD_SIZE", `"RANK"`, `'RANK'`}},
	} {
		for _, mark := range f.marks {
			if strings.Contains(text, mark) {
				return f.name
			}
		}
	}
	return ""
}

// Script returns the program of a Python command: the path of a file, or the text of -c. Both are
// "" for a module, and for commands that are not Python.
func Script(argv []string) (path, text string) {
	at := program(argv)
	if at == len(argv) {
		return "", ""
	}
	if strings.HasSuffix(argv[at], ".py") {
		return argv[at], ""
	}
	if !isPython(argv[at][strings.LastIndexByte(argv[at], '/')+1:]) {
		return "", ""
	}
	for at++; at < len(argv); at++ {
		switch word := argv[at]; {
		case word == "-X" || word == "-W":
			at++
		case strings.HasPrefix(word, "--"):
		case strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c") && at+1 < len(argv):
			return "", argv[at+1]
		case strings.HasPrefix(word, "-") && strings.HasSuffix(word, "m"), word == "-":
			return "", ""
		case !strings.HasPrefix(word, "-"):
			return word, ""
		}
	}
	return "", ""
}
