package progress

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

const (
	// mostBytes bounds the body of a request.
	mostBytes = 64 << 10
	// mostMetrics and mostText bound what a report may put into a status: numbers, and bytes of a name
	// or a value.
	mostMetrics = 32
	mostText    = 128
)

// Names of the metrics by which Hugging Face's callback and our launcher report steps.
const (
	CurrentStep = "current_step"
	TotalSteps  = "total_steps"
)

// body is the JSON of a request, as in KEP-2779 of Kubeflow Trainer.
type body struct {
	TrainerStatus *struct {
		ProgressPercentage        *float64  `json:"progressPercentage"`
		EstimatedRemainingSeconds *float64  `json:"estimatedRemainingSeconds"`
		LastUpdatedTime           time.Time `json:"lastUpdatedTime"`
		Metrics                   []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"metrics"`
	} `json:"trainerStatus"`
}

// read parses a report. now is its time, whatever clock the program has. Fields that this release
// does not know are ignored, and so are metrics beyond mostMetrics, except the steps.
func read(text []byte, now time.Time) (*v1alpha1.TrainerStatus, error) {
	var b body
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	if b.TrainerStatus == nil {
		return nil, fmt.Errorf("read report: trainerStatus is missing")
	}
	got := b.TrainerStatus
	s := &v1alpha1.TrainerStatus{LastUpdatedTime: metav1.Time{Time: now.Truncate(time.Second)}}
	var err error
	if s.ProgressPercentage, err = whole("progressPercentage", got.ProgressPercentage, 100); err != nil {
		return nil, err
	}
	if s.EstimatedRemainingSeconds, err = whole("estimatedRemainingSeconds", got.EstimatedRemainingSeconds, math.MaxInt32); err != nil {
		return nil, err
	}
	for _, m := range got.Metrics {
		if len(m.Name) == 0 || len(m.Name) > mostText || len(m.Value) > mostText || !isPlain(m.Name) || !isPlain(m.Value) {
			return nil, fmt.Errorf("read report: a metric needs a name and a value of at most %d bytes without control characters", mostText)
		}
		if !slices.ContainsFunc(s.Metrics, func(have v1alpha1.TrainerMetric) bool { return have.Name == m.Name }) {
			s.Metrics = append(s.Metrics, v1alpha1.TrainerMetric{Name: m.Name, Value: m.Value})
		}
	}
	slices.SortStableFunc(s.Metrics, func(a, b v1alpha1.TrainerMetric) int {
		return rank(a.Name) - rank(b.Name)
	})
	s.Metrics = s.Metrics[:min(len(s.Metrics), mostMetrics)]
	return s, nil
}

// rank puts the steps before all other metrics.
func rank(name string) int {
	if name == CurrentStep || name == TotalSteps {
		return 0
	}
	return 1
}

// whole returns a number that a status can hold. Programs round in different ways, so a fraction is
// allowed.
func whole(name string, n *float64, most float64) (*int32, error) {
	if n == nil {
		return nil, nil
	}
	if !(*n >= 0 && *n <= most) {
		return nil, fmt.Errorf("read report: %s must be a number from 0 to %.0f", name, most)
	}
	return new(int32(*n)), nil
}

// isPlain reports whether a text can be shown in a terminal.
func isPlain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 })
}
