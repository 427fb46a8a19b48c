package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Text returns a report as one line: "step 1,200/5,000, ETA 3h". Without steps it has the percentage,
// and "" if a report has neither.
func Text(s *v1alpha1.TrainerStatus) string {
	if s == nil {
		return ""
	}
	var parts []string
	if now, total := number(s, CurrentStep), number(s, TotalSteps); now >= 0 {
		step := "step " + grouped(now)
		if total > 0 {
			step += "/" + grouped(total)
		}
		parts = append(parts, step)
	} else if s.ProgressPercentage != nil {
		parts = append(parts, fmt.Sprintf("%d%%", *s.ProgressPercentage))
	}
	if left := s.EstimatedRemainingSeconds; left != nil && len(parts) > 0 && *left > 0 {
		parts = append(parts, "ETA "+brief(time.Duration(*left)*time.Second))
	}
	return strings.Join(parts, ", ")
}

// Last is Text for a program that has ended: without an estimate.
func Last(s *v1alpha1.TrainerStatus) string {
	if s == nil {
		return ""
	}
	last := *s
	last.EstimatedRemainingSeconds = nil
	return Text(&last)
}

// number returns a metric that is a whole number, or -1.
func number(s *v1alpha1.TrainerStatus, name string) int64 {
	for _, m := range s.Metrics {
		if m.Name == name {
			if f, err := strconv.ParseFloat(m.Value, 64); err == nil && f >= 0 && f < 1<<53 {
				return int64(f)
			}
		}
	}
	return -1
}

// grouped writes a number with a comma before each group of three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// brief writes a time as kubectl writes an age: the two largest units, or one if it is 10 or more.
func brief(d time.Duration) string {
	units := []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		n := d / u.size
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%d%s", n, u.name)
		if rest := d % u.size; n < 10 && i+1 < len(units) && rest >= units[i+1].size {
			text += fmt.Sprintf("%d%s", rest/units[i+1].size, units[i+1].name)
		}
		return text
	}
	return "0s"
}
