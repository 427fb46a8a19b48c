package framework_test

import (
	"fmt"

	"github.com/musterhq/muster/agent/framework"
)

// This example shows what rank 3 of a PyTorch script reads. The job has two workers with two
// processes each.
func ExampleFramework() {
	torch, err := framework.Named("torch")
	if err != nil {
		fmt.Println(err)
		return
	}
	launch, err := torch.Prepare(framework.Cluster{
		Job: "train",
		Workers: []framework.Node{
			{Name: "train-worker-0", Host: "10.0.0.7", IP: "10.0.0.7", Slots: 2, Index: 0},
			{Name: "train-worker-1", Host: "10.0.0.9", IP: "10.0.0.9", Slots: 2, Index: 1},
		},
		Command: []string{"python3", "train.py"},
		Procs:   2,
		Port:    29000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	last := launch.Processes[len(launch.Processes)-1]
	fmt.Println("rank", last.Rank, "runs on worker", last.Worker)
	for _, v := range last.Env {
		switch v.Name {
		case "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR":
			fmt.Println(v.Name + "=" + v.Value)
		}
	}
	// Output:
	// rank 3 runs on worker 1
	// RANK=3
	// WORLD_SIZE=4
	// LOCAL_RANK=1
	// MASTER_ADDR=10.0.0.7
}

// The user has set MASTER_PORT, so that value is kept.
func ExampleMerge() {
	user := []string{"NCCL_DEBUG=INFO", "MASTER_PORT=4242"}
	set, warnings := framework.Merge(user, []framework.Var{
		{Name: "MASTER_ADDR", Value: "10.0.0.7", Why: "rank 0 listens there"},
		{Name: "MASTER_PORT", Value: "29000", Why: "a port of this attempt"},
	})
	for _, v := range set {
		fmt.Println(v.Name + "=" + v.Value)
	}
	for _, w := range warnings {
		fmt.Println(w)
	}
	// Output:
	// MASTER_ADDR=10.0.0.7
	// MASTER_PORT="4242" is set and kept in place of "29000": a port of this attempt
}

func ExampleDetect() {
	fmt.Printf("%q\n", framework.Detect([]string{"mpirun", "./pi"}))
	fmt.Printf("%q\n", framework.Detect([]string{"torchrun", "train.py"}))
	fmt.Printf("%q\n", framework.Detect([]string{"python3", "train.py"}))
	// Output:
	// "mpi"
	// "torch"
	// ""
}

func ExampleParseRoles() {
	roles, err := framework.ParseRoles("chief=1,ps=1,worker=2", 4)
	fmt.Println(roles, err)
	_, err = framework.ParseRoles("chief=1,worker=2", 4)
	fmt.Println(err)
	// Output:
	// [{chief 0} {ps 0} {worker 0} {worker 1}] <nil>
	// --roles=chief=1,worker=2 is for 3 workers, but the job has 4
}
