package settings_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/join"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/agent/submit"
)

// kindOf returns the kinds of settings that fit a field.
func kindOf(field any) []settings.Kind {
	switch field.(type) {
	case *int:
		return []settings.Kind{settings.Number}
	case *bool:
		return []settings.Kind{settings.Switch}
	case *string:
		return []settings.Kind{settings.Text, settings.List}
	case *time.Duration:
		return []settings.Kind{settings.Duration}
	case *[]string:
		return []settings.Kind{settings.Names, settings.Repeated}
	case *[]progress.Word:
		return []settings.Kind{settings.Rule}
	}
	return nil
}

// TestEverySettingHasItsField checks that the table and the structs of its settings agree.
func TestEverySettingHasItsField(t *testing.T) {
	for name, row := range map[string]struct {
		target any
		verb   settings.Verb
		all    bool // each setting must have a field; otherwise, a flag without a field goes into the launcher's environment
	}{
		"join":   {&join.Config{}, settings.OfJoin, true},
		"run":    {&config.Config{}, settings.OfRun, true},
		"submit": {&submit.Request{}, settings.OfSubmit, false},
	} {
		fields := settings.Fields(row.target)
		for s := range settings.Of(row.verb) {
			field := fields[s.Name]
			if s.Kind == settings.Rule {
				field = fields[progress.FlagList]
			}
			if field != nil || row.all {
				require.Contains(t, kindOf(field), s.Kind, "%s --%s", name, s.Name)
			}
			delete(fields, s.Name)
		}
		require.Empty(t, fields, "%s: fields without a setting in the table", name)
	}
}

// TestEveryFieldOfALaunchJobExists checks that the paths in the table exist in the LaunchJob.
func TestEveryFieldOfALaunchJobExists(t *testing.T) {
	for _, s := range slices.AppendSeq(slices.Collect(settings.Of(settings.OfRun)), settings.Of(settings.OfJoin)) {
		if s.Field == "" {
			continue
		}
		at := reflect.TypeFor[v1alpha1.LaunchJobSpec]()
		for name := range strings.SplitSeq(s.Field, ".") {
			for at.Kind() == reflect.Pointer {
				at = at.Elem()
			}
			field, found := at.FieldByNameFunc(func(field string) bool {
				f, _ := at.FieldByName(field)
				tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				return tag == name
			})
			require.True(t, found, "--%s: no %s in %s", s.Name, name, at)
			at = field.Type
		}
	}
}

// TestDefaultsAreThoseOfTheTable checks that a launcher without flags has the defaults of the
// table.
func TestDefaultsAreThoseOfTheTable(t *testing.T) {
	c := config.Defaults()
	require.Equal(t, 10*time.Minute, c.Timeout)
	require.Equal(t, 30*time.Minute, c.HangAfter)
	require.Equal(t, 1, c.Slots)
	text, err := json.Marshal(framework.Names())
	require.NoError(t, err)
	list := strings.Trim(strings.ReplaceAll(string(text), `","`, ", "), `["]`)
	for s := range settings.Of(settings.OfRun) {
		if s.Name == "framework" {
			require.Contains(t, s.Run.Help, "`NAME`: "+list+" (")
		}
	}
}

// TestValuesOfAJob checks how fields of a LaunchJob become values of flags.
func TestValuesOfAJob(t *testing.T) {
	got := settings.Values(v1alpha1.LaunchJobSpec{Slots: 4, TopologyKeys: []v1alpha1.TopologyKey{"a", "b/c"}, RequireRDMA: true,
		Progress: []v1alpha1.ProgressRule{{FailOn: "nan"}}})
	require.Equal(t, map[string]string{"slots": "4", "topology-keys": "a,b/c", "require-rdma": "true", "progress": `[{"failOn":"nan"}]`}, got)
	require.Empty(t, settings.Values(v1alpha1.LaunchJobSpec{}))
}
