// Command monitoring writes the dashboards for Grafana in images/chart/files, and tests them and the alerts there.
//
//	panels.go     the panels of both dashboards, one row each
//	dashboard.go  panels -> Grafana's JSON, by Grafana's own types
//	main.go       writes the files
//	live_test.go  on a cluster, a real Prometheus that scrapes a real run: every panel has data
//	alerts_test.go  every alert fires, and none fires for a healthy job, by promtool
package main
