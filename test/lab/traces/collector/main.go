// Collector is an OpenTelemetry collector from its own modules. It has the receiver for OTLP, a debug
// exporter, and an exporter into a file of OTLP JSON objects, one a line.
package main

import (
	"context"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Description: "an OpenTelemetry collector for tests", Version: "1"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			DefaultScheme:     "yaml",
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), yamlprovider.NewFactory()},
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}

func factories() (f otelcol.Factories, err error) {
	f.Telemetry = otelconftelemetry.NewFactory()
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](debugexporter.NewFactory(), newFactory())
	return f, err
}

// config is the configuration of the exporter into a file.
type config struct {
	Path string `mapstructure:"path"`
}

func newFactory() exporter.Factory {
	return exporter.NewFactory(component.MustNewType("file"), func() component.Config { return &config{} },
		exporter.WithTraces(func(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
			var mu sync.Mutex
			return exporterhelper.NewTraces(ctx, set, cfg, func(_ context.Context, traces ptrace.Traces) error {
				line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				f, err := os.OpenFile(cfg.(*config).Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = f.Write(append(line, '\n'))
				return err
			})
		}, component.StabilityLevelDevelopment))
}
