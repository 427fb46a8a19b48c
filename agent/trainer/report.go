package trainer

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Report says how far a run is.
type Report struct {
	Step, Total float64       // Total 0: unknown
	Left        time.Duration // 0: unknown
}

// Names of metrics, as in Hugging Face's KubeflowCallback.
const (
	currentStep = "current_step"
	totalSteps  = "total_steps"
)

type (
	request struct {
		TrainerStatus status `json:"trainerStatus"`
	}
	status struct {
		ProgressPercentage        *int      `json:"progressPercentage,omitempty"`
		EstimatedRemainingSeconds *int64    `json:"estimatedRemainingSeconds,omitempty"`
		Metrics                   []metric  `json:"metrics,omitempty"`
		LastUpdatedTime           time.Time `json:"lastUpdatedTime"`
	}
	metric struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// encode returns the request's body. What is unknown is left out. A run is at 100 % only if it has
// reached its total.
func (r Report) encode(now time.Time) ([]byte, error) {
	s := status{LastUpdatedTime: now.UTC(), Metrics: []metric{{currentStep, text(r.Step)}}}
	if r.Total > 0 {
		s.Metrics = append(s.Metrics, metric{totalSteps, text(r.Total)})
		s.ProgressPercentage = new(int(math.Floor(100 * min(max(r.Step/r.Total, 0), 1))))
	}
	if r.Left > 0 {
		s.EstimatedRemainingSeconds = new(int64(math.Ceil(r.Left.Seconds())))
	}
	return json.Marshal(request{s})
}

func text(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
