// Command inpod is what test/lab/bench/launch runs in its launchers.
//
//	inpod wait -workers N [-hosts]   watch until N workers are Ready; write /tmp/hostfile: by name, with
//	                                 their addresses in /etc/hosts, or by address
//	inpod exec -workers N            open an exec of `true` for each worker at once; prints the seconds
//	inpod dns -after TIME            a DNS that knows nobody, and takes its time to say so
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// selector is the label of the workers.
var selector = client.MatchingLabels{"muster.dev/role": "worker"}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "inpod: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return errors.New("wait, exec or dns?")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	workers := flags.Int("workers", 0, "how many `N`")
	hosts := flags.Bool("hosts", false, "by name")
	after := flags.Duration("after", 0, "`TIME` until it is said that a name outside the cluster is unknown")
	_ = flags.Parse(os.Args[2:]) // ExitOnError
	if os.Args[1] == "dns" {
		return serveDNS(*after)
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return err
	}
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = 1000, 1000
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	api, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme, Mapper: podsOnly(scheme)})
	if err != nil {
		return err
	}
	ready, err := await(ctx, api, string(namespace), *workers)
	if err != nil {
		return err
	}
	switch os.Args[1] {
	case "wait":
		return write(ready, *hosts)
	case "exec":
		return execAll(ctx, cfg, string(namespace), ready)
	}
	return fmt.Errorf("no such verb: %s", os.Args[1])
}

// write says where the workers are.
func write(ready map[string]string, byName bool) error {
	var hostfile, hosts strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ready)) {
		address := ready[name]
		host := address
		if byName {
			host = name
		}
		fmt.Fprintf(&hostfile, "%s slots=1\n", host)
		fmt.Fprintf(&hosts, "%s\t%s\n", address, name)
	}
	if err := os.WriteFile("/tmp/hostfile", []byte(hostfile.String()), 0o644); err != nil {
		return err
	}
	text := "127.0.0.1\tlocalhost\n"
	if byName {
		text += hosts.String()
	}
	return os.WriteFile("/etc/hosts", []byte(text), 0o644)
}
