package reports

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// aRestart matches the launcher's sentence about a new attempt.
var aRestart = regexp.MustCompile(`^attempt \d+ of \d+`)

// aStall matches its sentence about a broken progress rule.
var aStall = regexp.MustCompile(`^(no progress|failed line)`)

// probed matches the kubelet's event about a failed `agent ready`, in either log format. It
// captures the launcher's words.
var probed = regexp.MustCompile(`(?s)^Readiness probe failed: .*?\bready: (.*?)"?\}?\s*$`)

// Trouble returns the newest words of the launcher's probe, or "" if there are none or if the
// controller may not read events.
func Trouble(events []corev1.Event, launcher types.UID) (words string) {
	var newest metav1.Time
	for _, e := range events {
		if said := probed.FindStringSubmatch(e.Message); said != nil && e.InvolvedObject.UID == launcher && !e.LastTimestamp.Before(&newest) {
			words, newest = said[1], e.LastTimestamp
		}
	}
	return words
}

// Restarted reports whether the words of the probe are about a new attempt.
func Restarted(words string) bool { return aRestart.MatchString(words) }

// Stalled reports whether the words of the probe are about a broken progress rule.
func Stalled(words string) bool { return aStall.MatchString(words) }
