package remote

import (
	"context"
	"encoding/json"
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

// serverMinor returns the minor version of the API server, if it is known. Everybody may ask for it.
func serverMinor(ctx context.Context, client rest.Interface) (minor int, known bool) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	body, err := client.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return 0, false // the first transport stays the same
	}
	return parseMinor(body)
}

// parseMinor reads the answer to /version. Some providers add a plus sign to the minor version.
func parseMinor(body []byte) (minor int, known bool) {
	var v struct{ Major, Minor string }
	if json.Unmarshal(body, &v) != nil || v.Major != "1" {
		return 0, false
	}
	minor, err := strconv.Atoi(strings.TrimSuffix(v.Minor, "+"))
	return minor, err == nil
}
