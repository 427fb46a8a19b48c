package check

import "slices"

// PackagesOf returns the Python packages that a framework consists of.
func PackagesOf(framework string) []string {
	switch framework {
	case "torch", "tensorflow", "horovod", "xgboost", "lightgbm", "ray", "mxnet":
		return []string{framework}
	case "deepspeed":
		return []string{"deepspeed", "torch"}
	case "jax":
		return []string{"jax", "jaxlib"}
	case "paddle":
		return []string{"paddlepaddle", "paddlepaddle-gpu"}
	}
	return nil
}

// AsksForNames reports whether ranks of a framework look up the names of the addresses that they
// connect to. PyTorch's distributed package does.
func AsksForNames(framework string) bool { return framework == "torch" || framework == "deepspeed" }

// SharesMemory reports whether ranks of a framework on one worker exchange data in /dev/shm: MPI,
// NCCL, data loaders, Ray's object store.
func SharesMemory(framework string) bool {
	return slices.Contains([]string{"torch", "deepspeed", "horovod", "mpi", "openmpi", "mpich", "intelmpi", "paddle", "ray"}, framework)
}
