package main

import (
	"strings"
)

// marker stands in texts, so that they are found again.
const marker = "walked-7"

// meaning are fields that take certain values only: one that is not the default. The
// longest end of a path that fits counts.
var meaning = map[string]any{
	"cleanPodPolicy":                       "All",
	"backoffLimit":                         int64(7),
	"BackoffLimit":                         int64(7),
	"maxRetry":                             int64(7),
	"minAvailable":                         int64(1),
	"replicas":                             int64(3),
	"numNodes":                             int64(3),
	"gpus":                                 int64(2),
	"processingUnits":                      int64(2),
	"elasticPolicy.minReplicas":            int64(1),
	"elasticPolicy.maxReplicas":            int64(5),
	"managedBy":                            "kueue.x-k8s.io/multikueue",
	"successPolicy":                        "AllWorkers",
	"nprocPerNode":                         "4",
	"numProcPerNode":                       int64(4),
	"schedulingPolicy.queue":               marker,
	"rdzvBackend":                          "etcd",
	"mpiImplementation":                    "OpenMPI",
	"mpiDistribution":                      "MPICH",
	"launcherCreationPolicy":               "WaitForWorkersReady",
	"mainContainer":                        "side",
	"processingResourceType":               "cpu",
	"creationTimestamp":                    "2024-05-01T10:00:00Z",
	"deletionTimestamp":                    "2024-05-01T10:00:00Z",
	"time":                                 "2024-05-01T10:00:00Z",
	"jobMode":                              "MXTune",
	"mlPolicy.mpi.runLauncherAsNode":       true,
	"template.spec.replicatedJobs[0].name": "renamed",
	"metadata.name":                        marker,
	"runningEstimate":                      "1h",
}

// value is a plausible one for a leaf.
func value(l leaf) any {
	path := l.String()
	best := ""
	for end := range meaning {
		if (path == end || strings.HasSuffix(path, "."+end)) && len(end) > len(best) && !inTemplate(path, end) {
			best = end
		}
	}
	if best != "" {
		return meaning[best]
	}
	if options, ok := l.schema["enum"].([]any); ok && len(options) > 0 {
		for _, option := range options {
			if option != l.schema["default"] && option != "" {
				return option
			}
		}
	}
	switch l.schema.kind() {
	case "integer":
		return int64(7)
	case "number":
		return 7.5
	case "boolean":
		return l.schema["default"] != true
	case "array":
		return []any{map[string]any{marker: marker}}
	case "object", "":
		return map[string]any{marker: marker}
	}
	switch {
	case l.schema["format"] == "date-time":
		return "2024-05-01T10:00:00Z"
	case quantity(l):
		return "7"
	}
	return marker
}

// inTemplate: the field is a pod's, where only the pod's own names mean something.
func inTemplate(path, end string) bool {
	return strings.Contains(path, "template.spec.") && !strings.Contains(end, "replicatedJobs") &&
		!strings.HasSuffix(path, "imestamp") && !strings.Contains(path, "replicatedJobs") && end != "metadata.name"
}

// quantity: an amount of a resource, or a number or text.
func quantity(l leaf) bool {
	anyInt, _ := l.schema["x-kubernetes-int-or-string"].(bool)
	return anyInt
}
