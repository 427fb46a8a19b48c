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

// Serve is the whole main of a plugin: it answers with f until the launcher ends
// it, or is gone. f's Prepare must be pure, as every framework's; a panic in it
// is told as an error. Standard error may be written to, standard output not
// before Serve, which announces itself there. Started by hand it says what it is
// and exits with 1.
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

// leaveWithLauncher ends this process when standard input does: the launcher
// holds the other end, and may be killed without a chance to end us.
func leaveWithLauncher() {
	_, _ = io.Copy(io.Discard, os.Stdin) // nothing is ever written
	os.Exit(0)
}

// served is f as go-plugin and gRPC see it.
type served struct {
	goplugin.NetRPCUnsupportedPlugin
	f      framework.Framework
	stderr *os.File // as it was before Serve
	once   sync.Once
}

func (s *served) GRPCServer(_ *goplugin.GRPCBroker, server *grpc.Server) error {
	server.RegisterService(description(), s)
	return nil
}

// GRPCClient is for go-plugin's own client, which is not used; see Open.
func (s *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("open a plugin with plugin.Open")
}

// prepare answers a request. go-plugin has put pipes in the place of standard
// output and error, which it empties only into a stream that our launcher does
// not ask for: who writes more than they hold would wait for ever.
func (s *served) prepare(request []byte) ([]byte, error) {
	s.once.Do(func() { os.Stdout, os.Stderr = s.stderr, s.stderr })
	return reply(s.f, request)
}
