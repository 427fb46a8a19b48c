package plugin

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/musterhq/muster/agent/framework"
)

// Serve is the whole main function of a plugin: it answers requests with f until the launcher ends
// it or is gone. f.Prepare must be pure, as in every framework; a panic in it becomes an error. The
// plugin may write to standard error. It must not write to standard output before Serve, which
// announces itself there. If a user starts the plugin by hand, it explains itself and exits with 1.
func Serve(f framework.Framework) {
	_, started := os.LookupEnv(handshake().MagicCookieKey)
	if started {
		go leaveWithLauncher()
	}
	s := &served{f: f, stderr: os.Stderr}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: map[int]goplugin.PluginSet{Protocol: {service: s}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(mostBytes), grpc.MaxSendMsgSize(mostBytes))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Warn}),
	})
}

// leaveWithLauncher ends this process when standard input ends. The launcher holds the other end,
// and may be killed before it can end us.
func leaveWithLauncher() {
	_, _ = io.Copy(io.Discard, os.Stdin) // no one ever writes to it
	os.Exit(0)
}

// served is f as go-plugin and gRPC see it.
type served struct {
	goplugin.NetRPCUnsupportedPlugin
	f      framework.Framework
	stderr *os.File // as before Serve
	once   sync.Once
}

// GRPCServer implements goplugin.GRPCPlugin.
func (s *served) GRPCServer(_ *goplugin.GRPCBroker, server *grpc.Server) error {
	server.RegisterService(description(), s)
	return nil
}

// GRPCClient is for go-plugin's own client, which Muster does not use; see Open.
func (s *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("open a plugin with plugin.Open")
}

// prepare answers a request. go-plugin has replaced standard output and error with pipes, which it
// empties only into a stream that our launcher does not open. A plugin that fills them would block
// forever, so prepare restores standard error for both.
func (s *served) prepare(request []byte) ([]byte, error) {
	s.once.Do(func() { os.Stdout, os.Stderr = s.stderr, s.stderr })
	return reply(s.f, request)
}
