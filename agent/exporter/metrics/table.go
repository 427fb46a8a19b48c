package metrics

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/retry/rules"
	"github.com/musterhq/muster/agent/timeline"
)

// Type is the type of a metric.
type Type string

// The types of metrics.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// About is one entry of the table of metrics.
type About struct {
	Name   string
	Type   Type
	Labels []string
	// Values are all values of the only label; nil: they are not known before.
	Values []string
	// Most is the largest number of series with the name; a histogram is one series here.
	Most int
	Help string
}

// Bounds of labels whose values are not known before.
const (
	mostReasons = 64
	mostNumbers = 64
)

// Names of metrics.
const (
	nameRunInfo   = "muster_run_info"
	nameWanted    = "muster_workers_wanted"
	nameWorkers   = "muster_workers"
	nameWaiting   = "muster_workers_waiting"
	namePhase     = "muster_launch_phase_seconds"
	nameDrops     = "muster_link_drops_total"
	nameRedial    = "muster_link_redial_seconds"
	nameAttempts  = "muster_attempts_total"
	nameRestarts  = "muster_restarts_total"
	nameStalls    = "muster_stalls_total"
	nameProgress  = "muster_progress"
	nameSeconds   = "muster_goodput_seconds"
	nameRatio     = "muster_goodput_ratio"
	nameOutput    = "muster_output_bytes_total"
	nameBuffered  = "muster_output_buffered_bytes"
	nameLostEvent = "muster_events_dropped_total"
)

// Table returns every metric, in the order of the documentation.
func Table() []About {
	all := []About{
		{Name: nameRunInfo, Type: Gauge, Labels: []string{"version"}, Most: 1, Help: "Release of the launcher; the value is 1."},
		{Name: nameWanted, Type: Gauge, Help: "Workers that the run waits for at its start."},
		{Name: nameWorkers, Type: Gauge, Labels: []string{"state"}, Values: states(), Help: "Workers by what they do or wait for, as in agent timeline."},
		{Name: nameWaiting, Type: Gauge, Labels: []string{"reason"}, Most: mostReasons, Help: "Workers that are not ready, by reason; updated every 15 seconds."},
		{Name: namePhase, Type: Histogram, Labels: []string{"phase"}, Values: launchPhases(), Help: "Seconds that a worker spent in a phase of a launch or restart, once for each time."},
		{Name: nameDrops, Type: Counter, Help: "Links to workers that were cut."},
		{Name: nameRedial, Type: Histogram, Help: "Seconds from the loss of a link until it was connected again."},
		{Name: nameAttempts, Type: Counter, Labels: []string{"cause"}, Values: rules.Ends(), Help: "Attempts of the command that have ended, by the cause of their end."},
		{Name: nameRestarts, Type: Counter, Help: "Restarts of the command."},
		{Name: nameStalls, Type: Counter, Help: "Hangs and broken progress rules that were reported."},
		{Name: nameProgress, Type: Gauge, Labels: []string{"rule", "group"}, Most: mostNumbers, Help: "Largest number that a group of an --expect rule has captured in this attempt; updated every 15 seconds."},
		{Name: nameSeconds, Type: Gauge, Labels: []string{"class"}, Values: classes(), Help: "Seconds of all workers together, by what they were spent on. Productive time becomes lost when its attempt fails."},
		{Name: nameRatio, Type: Gauge, Help: "Productive share of the workers' time, from 0 to 1, without the classes gone and unknown."},
		{Name: nameOutput, Type: Counter, Help: "Bytes of output of processes on the workers that have reached the launcher; updated every 15 seconds."},
		{Name: nameBuffered, Type: Gauge, Help: "Bytes of output that the launcher holds because nothing has read them yet; updated every 15 seconds."},
		{Name: nameLostEvent, Type: Counter, Help: "Events that are missing in these metrics because agent-exporter was too slow."},
	}
	for i := range all {
		if all[i].Most == 0 {
			all[i].Most = max(1, len(all[i].Values))
		}
	}
	return all
}

// about returns the entry of a metric.
func about(name string) About {
	all := Table()
	i := slices.IndexFunc(all, func(a About) bool { return a.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("metrics: %s is not in the table", name))
	}
	return all[i]
}

// states lists the values of the label state.
func states() (all []string) {
	for _, a := range timeline.Table() {
		all = append(all, string(a.Phase))
	}
	return all
}

// launchPhases lists the phases that a launch or a restart consists of.
func launchPhases() []string {
	var all []string
	for _, p := range []timeline.Phase{timeline.Queued, timeline.Pulling, timeline.Starting, timeline.Linking, timeline.Waiting, timeline.Checking, timeline.Restarting} {
		all = append(all, string(p))
	}
	return all
}
