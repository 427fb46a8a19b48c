package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetricsAddr(t *testing.T) {
	for addr, row := range map[string]struct {
		serves bool
		err    string
	}{
		"":               {false, ""},
		"0":              {false, ""},
		":9464":          {true, ""},
		"127.0.0.1:0":    {true, ""},
		"[::1]:9464":     {true, ""},
		"localhost:9464": {true, ""},
		"9464":           {true, "--metrics-addr=9464 is not HOST:PORT"},
		"::1:9464":       {true, "--metrics-addr=::1:9464 is not HOST:PORT"},
		":http":          {true, "--metrics-addr=:http: want a port from 0 to 65535"},
		":65536":         {true, "--metrics-addr=:65536: want a port from 0 to 65535"},
	} {
		c := Config{Printing: Printing{MetricsAddr: addr}}
		require.Equal(t, row.serves, c.ServesMetrics(), addr)
		if err := c.validateMetricsAddr(); row.err == "" {
			require.NoError(t, err, addr)
		} else {
			require.EqualError(t, err, row.err, addr)
		}
	}
}
