package census

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/goodput"
)

// spentOn returns a status with this time.
func spentOn(productive, lost int64) (s v1alpha1.LaunchJobStatus) {
	for _, one := range []v1alpha1.TimeSpent{{Class: "productive", Seconds: productive}, {Class: "lost", Seconds: lost}} {
		if one.Seconds > 0 {
			s.Spent = append(s.Spent, one)
		}
	}
	return s
}

// TestGoodputCountsOnce checks that the counter has the time of each launcher once, whatever else changes in
// the status, and that a new controller counts only what comes later.
func TestGoodputCountsOnce(t *testing.T) {
	c, err := NewChanges(prometheus.NewPedanticRegistry())
	require.NoError(t, err)
	of := func(c *Changes, class, namespace string) float64 {
		return testutil.ToFloat64(c.spent.WithLabelValues(class, namespace))
	}
	none, first, both := spentOn(0, 0), spentOn(60, 30), spentOn(150, 30)
	c.Count("lab", none, first, nil)
	c.Count("lab", first, first, nil)
	require.EqualValues(t, 60, of(c, "productive", "lab"))
	next, err := NewChanges(prometheus.NewPedanticRegistry())
	require.NoError(t, err)
	for _, c := range []*Changes{c, next} {
		c.Count("lab", first, both, nil)
		c.Count("lab", both, both, nil)
	}
	require.EqualValues(t, 150, of(c, "productive", "lab"))
	require.EqualValues(t, 30, of(c, "lost", "lab"))
	require.EqualValues(t, 90, of(next, "productive", "lab"))
	require.Zero(t, of(next, "lost", "lab"))

	c.Count("lab", none, v1alpha1.LaunchJobStatus{Spent: []v1alpha1.TimeSpent{{Class: "daydreaming", Seconds: 7}}}, nil)
	require.EqualValues(t, 7, of(c, "unknown", "lab"), "a class of another release")
}

// TestGoodputBeginsAtZero checks that Prometheus sees a namespace's series before they have a value.
func TestGoodputBeginsAtZero(t *testing.T) {
	c, err := NewChanges(prometheus.NewPedanticRegistry())
	require.NoError(t, err)
	c.Count("lab", v1alpha1.LaunchJobStatus{}, v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseWaiting}, nil)
	require.Equal(t, len(goodput.Table()), testutil.CollectAndCount(c.spent))
}

func TestGoodputHasFewNamespaces(t *testing.T) {
	c, err := NewChanges(prometheus.NewPedanticRegistry())
	require.NoError(t, err)
	for i := range mostNamespaces + 50 {
		c.Count(fmt.Sprint("ns-", i), v1alpha1.LaunchJobStatus{}, spentOn(1, 0), nil)
	}
	require.Equal(t, mostNamespaces*len(goodput.Table())+1, testutil.CollectAndCount(c.spent))
	require.EqualValues(t, 50, testutil.ToFloat64(c.spent.WithLabelValues("productive", Other)))
}
