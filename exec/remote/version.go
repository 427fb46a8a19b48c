package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// choice is a line of cheapest.
type choice struct {
	since int // minor version of the API server
	first Transport
}

// cheapest says which transport costs an API server and its kubelets least, by the version of the
// API server, oldest first. The numbers are those of `make bench-streams`. With a single line, no
// server is asked for its version.
//
// From 1.36 the API server passes WebSockets on to kubelets of 1.36 and later, which translate them
// instead. The version of the API server does not prove that: kubelets may be older. A wrong choice
// costs memory and CPU time, but no stream.
var cheapest = []choice{{0, SPDY}}

// preferred returns the transport of the newest line of table that applies to a server. table is in
// the order of cheapest, and begins with version 0.
func preferred(minor int, table []choice) Transport {
	first := SPDY
	for _, c := range table {
		if minor >= c.since {
			first = c.first
		}
	}
	return first
}

// versionTimeout limits the request for the version. A server that needs longer is busy, and the
// dial needs the time.
const versionTimeout = time.Second

// serverMinor returns the minor version of the API server. Everybody may ask for it.
func serverMinor(ctx context.Context, client rest.Interface) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	body, err := client.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("get the server's version: %w", err)
	}
	return parseMinor(body)
}

// parseMinor reads the answer to /version. Some providers add a plus sign to the minor version.
func parseMinor(body []byte) (int, error) {
	var v struct{ Major, Minor string }
	if err := json.Unmarshal(body, &v); err != nil {
		return 0, fmt.Errorf("read the server's version: %w", err)
	}
	minor, err := strconv.Atoi(strings.TrimSuffix(v.Minor, "+"))
	if v.Major != "1" || err != nil {
		return 0, fmt.Errorf("read the server's version: %q is not a version of Kubernetes", v.Major+"."+v.Minor)
	}
	return minor, nil
}
