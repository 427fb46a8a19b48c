package framework

import (
	"fmt"
	"strconv"
)

// XGBoost prepares xgboost.collective.
//
// XGBoost 2 and later read no environment variable: the script passes these values on, and its
// process 0 starts the tracker (docs/guides/xgboost.md). The names are those of Trainer and of older
// releases.
type XGBoost struct{}

// Prepare implements Framework. A worker of role master is task 0 and decides; otherwise all work.
// Errors: see [Cluster]; another role.
func (XGBoost) Prepare(c Cluster) (Launch, error) {
	launch, err := boosted(c, "xgboost", func(ranks []rank, r rank) []Var {
		return []Var{
			{Name: "DMLC_TRACKER_URI", Value: ranks[0].node.address(), Why: "address of task 0, which runs the tracker; the script passes it as dmlc_tracker_uri"},
			{Name: "DMLC_TRACKER_PORT", Value: strconv.Itoa(c.Port + portMeet), Why: "a port that only this attempt uses; dmlc_tracker_port"},
			{Name: "DMLC_TASK_ID", Value: padded(r.Rank, r.size), Why: "index of this process, with zeros because the tracker sorts tasks as text; dmlc_task_id"},
			{Name: "DMLC_NUM_WORKER", Value: strconv.Itoa(r.size), Why: "number of processes in the job, for the tracker"},
		}
	})
	if err != nil {
		return Launch{}, fmt.Errorf("prepare xgboost: %w", err)
	}
	return launch, nil
}

// boosted numbers the processes and gives each the variables of the framework.
func boosted(c Cluster, name string, vars func(ranks []rank, own rank) []Var) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, err
	}
	if err := c.rolesAre(name, "master", "worker"); err != nil {
		return Launch{}, err
	}
	ranks, err := c.ranks(c.nodesByRole("master"))
	if err != nil {
		return Launch{}, err
	}
	var launch Launch
	for _, r := range ranks {
		r.byRole()
		r.Env = append(vars(ranks, r), unbuffered())
		launch.Processes = append(launch.Processes, r.Process)
	}
	masterDecides(launch.Processes)
	return launch, nil
}

// padded writes n with as many digits as the largest of size numbers has.
func padded(n, size int) string {
	return fmt.Sprintf("%0*d", len(strconv.Itoa(max(1, size)-1)), n)
}
