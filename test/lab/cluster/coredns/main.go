// Command coredns is CoreDNS with the plugins that the test cluster's Corefile uses and no others: the cloud providers'
// plugins of the stock program take minutes to compile. The order of plugins is CoreDNS' own (dnsserver.Directives).
package main

import (
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() { coremain.Run() }
