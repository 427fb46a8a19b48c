package main

// view is the way in which a panel shows numbers.
type view int

const (
	lines view = iota
	stacked
	single
)

// panel is one panel of a dashboard.
type panel struct {
	title, means string
	as           view
	unit         string
	// queries have a legend each.
	queries []query
}

type query struct{ expr, legend string }

// row is a line of panels with a heading.
type row struct {
	title  string
	panels []panel
}

// fleet returns the rows of the dashboard about all jobs, by the controller's metrics.
func fleet() []row {
	return []row{
		{"Jobs", []panel{
			{"Jobs by phase", "LaunchJobs that exist now.", stacked, "short", []query{{`max by (phase) (muster_jobs)`, "{{phase}}"}}},
			{"Waiting jobs by reason", "docs/reference/reasons.md explains each reason.", stacked, "short", []query{{`max by (reason) (muster_jobs_waiting)`, "{{reason}}"}}},
			{"Longest wait by reason", "Time since the start of the job that has waited longest.", lines, "s", []query{{`max by (reason) (muster_jobs_longest_wait_seconds)`, "{{reason}}"}}},
			{"Ended jobs", "LaunchJobs that have ended, in each hour.", stacked, "short", []query{{`sum by (outcome) (increase(muster_jobs_total[1h]))`, "{{outcome}}"}}},
		}},
		{"Time", []panel{
			{"Launch: half of the jobs", "Median of the time until all pods have a node (scheduling), and until their containers run (starting).", lines, "s",
				[]query{{`histogram_quantile(0.5, sum by (le, phase) (rate(muster_job_launch_seconds_bucket[1h])))`, "{{phase}}"}}},
			{"Launch: the slowest twentieth", "The same for the 95th percentile.", lines, "s",
				[]query{{`histogram_quantile(0.95, sum by (le, phase) (rate(muster_job_launch_seconds_bucket[1h])))`, "{{phase}}"}}},
			{"Time of all workers by class", "What the time of all workers was spent on, of launchers that have ended: seconds in each hour.", stacked, "s",
				[]query{{`sum by (class) (increase(muster_jobs_goodput_seconds_total[1h])) > 0`, "{{class}}"}}},
		}},
		{"Controller", []panel{
			{"Leader", "1: a replica leads.", single, "short", []query{{`max(leader_election_master_status{name="muster-controller"})`, "leader"}}},
			{"Errors", "Reconciles that ended with an error, in each second.", lines, "short", []query{{`sum by (controller) (rate(controller_runtime_reconcile_errors_total[5m]))`, "{{controller}}"}}},
			{"Queue", "Jobs that the controller has not looked at yet.", lines, "short", []query{{`sum by (name) (workqueue_depth)`, "{{name}}"}}},
		}},
	}
}

// one returns the rows of the dashboard about one job, by its launcher's metrics.
func one() []row {
	const of = `{namespace=~"$namespace", pod=~"$pod"}`
	in := func(name string) string { return name + of }
	over := func(f, name string) string { return f + "(" + in(name) + "[$__rate_interval])" }
	return []row{
		{"Now", []panel{
			{"Goodput", "Productive share of the workers' time so far.", single, "percentunit", []query{{`max(` + in("muster_goodput_ratio") + `)`, "goodput"}}},
			{"Workers", "Workers that run the command, and workers that the run wants.", single, "short",
				[]query{{`sum(muster_workers{namespace=~"$namespace", pod=~"$pod", state="running"})`, "running"}, {`sum(` + in("muster_workers_wanted") + `)`, "wanted"}}},
			{"Restarts", "Restarts of the command so far.", single, "short", []query{{`sum(` + in("muster_restarts_total") + `)`, "restarts"}}},
			{"Stalls", "Hangs and broken progress rules so far.", single, "short", []query{{`sum(` + in("muster_stalls_total") + `)`, "stalls"}}},
		}},
		{"Workers", []panel{
			{"Workers by state", "What workers do or wait for, as in agent timeline.", stacked, "short", []query{{`sum by (state) (` + in("muster_workers") + `) > 0`, "{{state}}"}}},
			{"Waiting workers by reason", "Workers that are not ready.", stacked, "short", []query{{`sum by (reason) (` + in("muster_workers_waiting") + `)`, "{{reason}}"}}},
			{"Time by class", "What the time of all workers was spent on, as shares of the time so far.", stacked, "percentunit",
				[]query{{`sum by (class) (` + in("muster_goodput_seconds") + `) / ignoring (class) group_left sum(` + in("muster_goodput_seconds") + `)`, "{{class}}"}}},
			{"Phases of launches and restarts", "Median of the time that a worker spent in each phase.", lines, "s",
				[]query{{`histogram_quantile(0.5, sum by (le, phase) (` + in("muster_launch_phase_seconds_bucket") + `))`, "{{phase}}"}}},
		}},
		{"Command", []panel{
			{"Progress", "Largest number that an --expect rule has captured in this attempt.", lines, "short", []query{{`max by (rule, group) (` + in("muster_progress") + `)`, "{{rule}} {{group}}"}}},
			{"Output", "Output of the workers' processes.", lines, "Bps", []query{{`sum(` + over("rate", "muster_output_bytes_total") + `)`, "output"}}},
			{"Unread output", "Output that nothing has read yet.", lines, "bytes", []query{{`sum(` + in("muster_output_buffered_bytes") + `)`, "unread"}}},
			{"Attempts by cause", "Attempts of the command that have ended.", stacked, "short", []query{{`sum by (cause) (` + in("muster_attempts_total") + `) > 0`, "{{cause}}"}}},
		}},
		{"Links", []panel{
			{"Lost links", "Links to workers that were cut, in each minute.", lines, "short", []query{{`sum(` + over("rate", "muster_link_drops_total") + `) * 60`, "lost"}}},
			{"Redials", "Time until a lost link is back: median and 95th percentile.", lines, "s", []query{
				{`histogram_quantile(0.5, sum by (le) (` + in("muster_link_redial_seconds_bucket") + `))`, "median"},
				{`histogram_quantile(0.95, sum by (le) (` + in("muster_link_redial_seconds_bucket") + `))`, "95th percentile"}}},
		}},
	}
}
