package check

import "slices"

// Check is one entry of the table.
type Check struct {
	Name string
	// Of says what is checked: a worker, the workers together, a pair of workers, or the cluster.
	Of string
	// About says in one sentence what must hold, and Needs what must be there for the check to run.
	About, Needs string
	// Remedy is the way out when it does not hold.
	Remedy string
}

// Values of Check.Of.
const (
	OfWorker  = "a worker"
	OfAll     = "the workers together"
	OfPair    = "two workers"
	OfCluster = "the cluster"
)

// Table returns every check, in the order of reports.
func Table() []Check {
	all := slices.Concat(clusterTable, []Check{})
	for _, c := range workerChecks {
		all = append(all, c.Check)
	}
	for _, c := range acrossChecks {
		all = append(all, c.Check)
	}
	return slices.Concat(all, pairTable, commandTable)
}

// positions returns the place of each check in the table, from 1, by name.
func positions() map[string]int {
	at := map[string]int{}
	for i, c := range Table() {
		at[c.Name] = i + 1
	}
	return at
}

// remedy returns the way out of a check.
func remedy(name string) string {
	for _, c := range Table() {
		if c.Name == name {
			return c.Remedy
		}
	}
	return ""
}
