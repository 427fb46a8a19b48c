package plugin

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
)

// patience is the time limit of the start and of each Prepare.
const patience = 5 * time.Second

// Plugin is a running plugin.
type Plugin struct {
	name     string
	patience time.Duration
	began    time.Time
	dir      string // private to this plugin
	client   *goplugin.Client
	proc     *started
	conn     *grpc.ClientConn // nil if the start failed before the connection

	closing sync.Once
	fault   error
}

// Open checks the plugin's file, starts it and completes the handshake. If ctx ends first, it kills
// the plugin. Errors begin with "plugin NAME:" and leave nothing behind. Open is an
// external.Opener.
func Open(ctx context.Context, c external.Config) (external.Plugin, error) {
	file, err := open(c.Path, c.Sum)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", c.Name, err)
	}
	defer file.Close()
	dir, err := os.MkdirTemp(c.Dir, "plugin")
	if err != nil {
		return nil, fmt.Errorf("plugin %s: make a directory for its socket: %w", c.Name, err)
	}
	p := &Plugin{name: c.Name, patience: cmp.Or(c.Patience, patience), began: time.Now(), dir: dir}
	p.proc = &started{name: c.Name, path: c.Path, file: file, starter: c.Starter, ended: make(chan struct{}), gone: make(chan struct{}),
		out: &stdout{}, err: &stderr{log: c.Log.With("plugin", c.Name), done: make(chan struct{})}}
	if err := p.start(ctx); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", c.Name, errors.Join(err, p.Close()))
	}
	return p, nil
}

func (p *Plugin) start(ctx context.Context) error {
	config := &goplugin.ClientConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: map[int]goplugin.PluginSet{Protocol: {service: &served{}}},
		RunnerFunc:       func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) { return p.proc.runner(cmd, dir) },
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     p.patience,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.dir},
		Logger:           hclog.NewNullLogger(),
	}
	p.client = goplugin.NewClient(config)
	// go-plugin does not watch ctx: ending the process ends its wait.
	stop := context.AfterFunc(ctx, func() { _ = p.proc.Kill(ctx) }) // Close reports the error
	addr, err := p.client.Start()
	if !stop() {
		return fmt.Errorf("start: %w", context.Cause(ctx))
	}
	if err != nil {
		return p.explain(err)
	}
	if config.TLSConfig.RootCAs == nil {
		return errors.New("it offers no certificate: plugins must use mutual TLS, as go-plugin's AutoMTLS does")
	}
	if p.conn, err = dial(addr, config.TLSConfig); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

// dial returns a connection that is made once, on first use.
func dial(addr net.Addr, certificates *tls.Config) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///plugin",
		grpc.WithTransportCredentials(credentials.NewTLS(certificates)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, addr.Network(), addr.String())
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostBytes), grpc.MaxCallSendMsgSize(mostBytes)),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithNoProxy())
}

// Prepare implements framework.Framework. It kills a plugin that does not answer in time.
func (p *Plugin) Prepare(c framework.Cluster) (framework.Launch, error) {
	l, err := p.prepare(c)
	if err != nil {
		return framework.Launch{}, fmt.Errorf("plugin %s: %w", p.name, err)
	}
	return l, nil
}

func (p *Plugin) prepare(c framework.Cluster) (framework.Launch, error) {
	request, err := ask(c)
	if err != nil {
		return framework.Launch{}, err
	}
	if !p.proc.running() {
		return framework.Launch{}, fmt.Errorf("it has ended: %s", p.end())
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.patience)
	defer cancel()
	var out wrapperspb.BytesValue
	if err := p.conn.Invoke(ctx, "/"+service+"/"+method, wrapperspb.Bytes(request), &out); err != nil {
		return framework.Launch{}, p.broken(ctx, err)
	}
	return read(out.GetValue(), c)
}

// Close kills the plugin with all processes that it started, and waits for it. It may be called
// again.
func (p *Plugin) Close() error {
	p.closing.Do(func() {
		if p.conn != nil {
			p.fault = p.conn.Close()
		}
		p.fault = errors.Join(p.fault, p.proc.Kill(context.Background()))
		p.settle()
		p.fault = errors.Join(p.fault, os.RemoveAll(p.dir))
	})
	return p.fault
}

// settle waits for our goroutine and for go-plugin's, which end with the pipes and the process.
// go-plugin's own way to wait for them is Kill, which would call the plugin first.
func (p *Plugin) settle() {
	if p.proc.proc == nil || p.fault != nil {
		return // never started, or still running
	}
	<-p.proc.gone
	for end := time.Now().Add(moment); !p.client.Exited() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
