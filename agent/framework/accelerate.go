package framework

import "strconv"

// accelerate prepares `accelerate launch`, which reads the shape of the job from its options and
// its own configuration file, and from no environment variable.
//
// With GPUs it acts like torchrun: Muster starts it once on each worker. Without GPUs it starts a
// single process and tells it of no other, so each process would train alone and exit with 0. In
// that case Muster starts it Procs times on each worker, and it passes the ranks' variables on.
func accelerate(c Cluster, cmd command, nodes []Node) (Launch, error) {
	procs := 1
	if c.noGPU() {
		procs = c.procs()
	}
	ranks, err := c.numbered(nodes, procs)
	if err != nil {
		return Launch{}, err
	}
	var launch Launch
	for _, r := range ranks {
		r.byRole()
		r.Argv = cmd.insert(c.Command, accelerateOptions(c, nodes[0], r)...)
		if c.noGPU() {
			r.Env = torchRank(c, nodes[0], r)
		} else {
			r.Env = []Var{{Name: "NODE_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker"}, unbuffered()}
		}
		r.Env = append(r.Env, c.sockets(r.node)...)
		launch.Processes = append(launch.Processes, r.Process)
	}
	masterDecides(launch.Processes)
	return launch, nil
}

// accelerateOptions returns the options that the user has not given.
func accelerateOptions(c Cluster, master Node, r rank) []string {
	words := c.Command
	var options []string
	add := func(underscored, dashed, value string) {
		if !has(words, underscored, dashed) {
			options = append(options, underscored, value)
		}
	}
	add("--main_process_ip", "--main-process-ip", master.address())
	add("--main_process_port", "--main-process-port", strconv.Itoa(c.Port+portMeet))
	if c.noGPU() {
		if !has(words, "--cpu", "--multi_gpu", "--multi-gpu", "--tpu", "--use_deepspeed", "--use-deepspeed", "--use_fsdp", "--use-fsdp") {
			options = append(options, "--cpu")
		}
		return options
	}
	total := r.nodes * c.procsOn(r.node)
	add("--num_machines", "--num-machines", strconv.Itoa(r.nodes))
	add("--machine_rank", "--machine-rank", strconv.Itoa(r.nodeRank))
	add("--num_processes", "--num-processes", strconv.Itoa(total))
	switch {
	case has(words, "--use_deepspeed", "--use-deepspeed"):
		add("--deepspeed_multinode_launcher", "--deepspeed-multinode-launcher", "standard")
	case total > 1 && !has(words, "--multi_gpu", "--multi-gpu", "--cpu", "--tpu", "--use_fsdp", "--use-fsdp",
		"--use_megatron_lm", "--use-megatron-lm", "--config_file", "--config-file"):
		options = append(options, "--multi_gpu")
	}
	return options
}
