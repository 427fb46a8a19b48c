package main

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/agent/timeline"
)

// ofRecord draws the short record in a job's status, and says what it does not show.
func (f *timelineFlags) ofRecord(streams Streams, job *v1alpha1.LaunchJob, record jobs.History) error {
	until := time.Time{}
	if !record.Over {
		until = time.Now()
	}
	t := timeline.Build(record.Events, until)
	t.Stands = record.Workers
	say := sayer(streams.Err)
	say("%s: its launcher does not run, so this is the short record in the job's status, in whole seconds. One bar stands for all workers", job.Name)
	if record.Omitted > 0 {
		say("%s: the record leaves out the oldest attempts: %d", job.Name, record.Omitted)
	}
	if record.Silent > 0 {
		say("%s: after the start of the pods, what happened is unknown. Launchers without a report: %d", job.Name, record.Silent)
	}
	return f.print(streams, t, fmt.Sprintf("%s (short record)", job.Name), spentOf(job))
}

// spentOf returns the account in a job's status. It is empty if no launcher has left one.
func spentOf(job *v1alpha1.LaunchJob) goodput.Account {
	account := goodput.Account{}
	for _, one := range job.Status.Spent {
		account[goodput.Class(one.Class)] += float64(one.Seconds)
	}
	return account
}
