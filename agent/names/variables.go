package names

// Variables lists all environment variables that begin with MUSTER_ and that our programs,
// the processes they start, or our own tests and tools read.
// A flag --max-restarts of agent run, env, hosts or join is MUSTER_MAX_RESTARTS.
func Variables() []string {
	flags := []string{
		"MUSTER_CHDIR", "MUSTER_COMPAT", "MUSTER_CONTAINER", "MUSTER_CONTEXT", "MUSTER_COORDINATOR", "MUSTER_DRY_RUN", "MUSTER_DYNAMIC_WORKERS", "MUSTER_ENV",
		"MUSTER_EXIT", "MUSTER_EXPLAIN", "MUSTER_FAKE", "MUSTER_FAKE_FAULT", "MUSTER_FORMAT", "MUSTER_FRAMEWORK", "MUSTER_FROZEN_AFTER", "MUSTER_GRACE", "MUSTER_HANG_ACTION", "MUSTER_HANG_AFTER",
		"MUSTER_HOPELESS_AFTER", "MUSTER_HOSTFILE", "MUSTER_INTERFACE", EnvJob, "MUSTER_KEEP_WORKERS", "MUSTER_KUBECONFIG", "MUSTER_LAUNCHER_SLOTS", "MUSTER_LEASE",
		EnvLogFormat, "MUSTER_LOG_LEVEL", "MUSTER_MAX_RESTARTS", "MUSTER_MAX_WORKERS", "MUSTER_METRIC", "MUSTER_METRICS_FILE", "MUSTER_MIN_WORKERS", EnvNamespace,
		"MUSTER_NODE_LOST_AFTER", "MUSTER_ONLY_RANKS", EnvOutput, "MUSTER_PLUGIN", EnvPods, "MUSTER_PORT", "MUSTER_PROCS_PER_WORKER", "MUSTER_QUIET", "MUSTER_RANK", "MUSTER_REPORT",
		"MUSTER_RESTART_ON", "MUSTER_ROLES", "MUSTER_SELECTOR", "MUSTER_SHIMS", EnvSlots, "MUSTER_SUCCESS", "MUSTER_TIMEOUT", "MUSTER_TOKEN_FILE", "MUSTER_VERBOSE",
		"MUSTER_WORKER_AGENT", EnvWorkers,
	}
	told := []string{EnvPodUID, EnvPodName, EnvPodIP, EnvPodIndex, EnvDir, EnvToken, "MUSTER_MPI_DIR", "MUSTER_TERMINATION_LOG", "MUSTER_NAMESPACES", "MUSTER_AGENT_IMAGE"}
	ranks := []string{EnvBroker, EnvSession, EnvWorker, EnvFake, EnvAttempt, "MUSTER_RUN", "MUSTER_ADDRESSES", "MUSTER_ROLE", "MUSTER_ROLE_INDEX", "MUSTER_PLUGIN_COOKIE"}
	return append(append(append(flags, told...), ranks...), TestVariables()...)
}

// TestVariables lists the variables of our own tests and tools, which may start any
// of our programs.
func TestVariables() []string {
	return []string{
		"MUSTER_AUDIT_LOG", "MUSTER_BIN", "MUSTER_CLUSTER", "MUSTER_CLUSTER_DIR", "MUSTER_E2E_IDLE", "MUSTER_E2E_KEEP", "MUSTER_FRAMEWORKS", "MUSTER_IMAGES_DIR",
		"MUSTER_KUBECTL", "MUSTER_MPI4PY_MPICH", "MUSTER_MPIS", "MUSTER_OUT", "MUSTER_OWN_MOUNTS", "MUSTER_PROGRAMS", "MUSTER_RACE", "MUSTER_TORCH_DIR",
	}
}
