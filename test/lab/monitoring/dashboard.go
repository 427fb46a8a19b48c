package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// width is that of a dashboard in Grafana's units.
const width = 24

// board is a dashboard in the form that every Grafana in use reads. Its successor needs Grafana 12.
type board = dashboard.DashboardBuilder //nolint:staticcheck // deprecated in favor of that successor

// source refers to the data source that the user chooses at the top.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// dashboards returns the dashboards by the names of their files.
func dashboards() (map[string][]byte, error) {
	all := map[string][]byte{}
	for name, d := range map[string]*board{
		"fleet.json": draw("Muster: all jobs", "muster-fleet", "LaunchJobs of a cluster, and their controller.", fleet()),
		"job.json": draw("Muster: one job", "muster-job", "One run of a job, by the metrics of its launcher.", one()).
			WithVariable(choice("namespace", "Namespace", `label_values(muster_run_info, namespace)`)).
			WithVariable(choice("pod", "Launcher", `label_values(muster_run_info{namespace=~"$namespace"}, pod)`)),
	} {
		built, err := d.Build()
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", name, err)
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(built); err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		all[name] = text.Bytes()
	}
	return all, nil
}

// draw lays out rows of panels.
func draw(title, uid, means string, rows []row) *board {
	d := dashboard.NewDashboardBuilder(title) //nolint:staticcheck // see board
	d.Uid(uid).Description(means).Tags([]string{"muster"}).
		Time("now-6h", "now").Refresh("1m").Timezone(common.TimeZoneBrowser).Readonly().
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	id := uint32(0)
	for _, r := range rows {
		id++
		d.WithRow(dashboard.NewRowBuilder(r.title).Id(id))
		for _, p := range r.panels {
			id++
			d.WithPanel(p.draw(id, uint32(width/len(r.panels))))
		}
	}
	return d
}

// choice returns a menu with the values of a label.
func choice(name, label, values string) cog.Builder[dashboard.VariableModel] {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source()).Query(dashboard.StringOrMap{String: &values}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).Multi(true).IncludeAll(true)
}

// draw returns the panel in Grafana's form.
func (p panel) draw(id, wide uint32) cog.Builder[dashboard.Panel] {
	if p.as == single {
		b := stat.NewPanelBuilder().Id(id).Title(p.title).Description(p.means).Unit(p.unit).Datasource(source()).Span(wide).Height(4)
		for i, q := range p.queries {
			b.WithTarget(q.build(i))
		}
		return b
	}
	b := timeseries.NewPanelBuilder().Id(id).Title(p.title).Description(p.means).Unit(p.unit).Min(0).Datasource(source()).Span(wide).Height(8).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom))
	if p.as == stacked {
		b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal)).FillOpacity(40)
	}
	for i, q := range p.queries {
		b.WithTarget(q.build(i))
	}
	return b
}

// build returns the query in Grafana's form. i is its place in the panel.
func (q query) build(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().RefId(string(rune('A' + i))).Expr(q.expr).LegendFormat(q.legend)
}
