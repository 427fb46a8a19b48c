package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Auto is the name that leaves the choice to [Detect].
const Auto = "auto"

// builtin returns each framework by the name that --framework takes.
func builtin() map[string]Framework {
	return map[string]Framework{
		"mpi":        MPI{},
		"openmpi":    OpenMPI{},
		"mpich":      MPICH{},
		"intelmpi":   IntelMPI{},
		"plain":      Plain{},
		"torch":      Torch{},
		"tensorflow": TensorFlow{},
		"jax":        JAX{},
		"paddle":     Paddle{},
		"xgboost":    XGBoost{},
		"lightgbm":   LightGBM{},
		"mxnet":      MXNet{},
		"horovod":    Horovod{},
		"deepspeed":  DeepSpeed{},
		"ray":        Ray{},
	}
}

// Names lists what --framework takes, sorted, auto first.
func Names() []string {
	return append([]string{Auto}, slices.Sorted(maps.Keys(builtin()))...)
}

// Named returns the framework of that name, in any spelling that [Spelled] knows. The error lists
// the names.
func Named(name string) (Framework, error) {
	if f, ok := builtin()[Spelled(name)]; ok {
		return f, nil
	}
	return nil, fmt.Errorf("--framework=%s: unknown framework, want %s", name, strings.Join(Names(), ", "))
}
