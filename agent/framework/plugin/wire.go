package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/musterhq/muster/agent/framework"
)

// Protocol is the version that this package speaks.
const Protocol = 1

// mostBytes bounds a message either way: some 8,000 processes with 20 variables.
const mostBytes = 32 << 20

const (
	service = "muster.framework.v1.Framework"
	method  = "Prepare"
)

// handshake is how a plugin knows that it was started by Muster. The cookie is
// no secret, it keeps people from starting plugins by hand.
func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion:  Protocol,
		MagicCookieKey:   "MUSTER_PLUGIN_COOKIE",
		MagicCookieValue: "framework",
	}
}

// answer is what a plugin returns: a Launch, or why there is none.
type answer struct {
	Launch *framework.Launch `json:",omitempty"`
	Error  string            `json:",omitempty"`
}

// ask is the request for a cluster. A word or a name that is not UTF-8 would
// arrive changed, so it is refused, and such a variable left out.
func ask(c framework.Cluster) ([]byte, error) {
	c.UserEnv = public(c.UserEnv)
	for _, word := range c.Command {
		if !utf8.ValidString(word) {
			return nil, fmt.Errorf("the command has %q, which is not UTF-8", word)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode cluster: %w", err)
	}
	return text, nil
}

// public are the variables that a plugin may see.
func public(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return framework.LooksSecret(name) || !utf8.ValidString(kv)
	})
}

// reply is the answer to a request; a panic of f's is an error.
func reply(f framework.Framework, request []byte) (text []byte, err error) {
	var c framework.Cluster
	if err := json.Unmarshal(request, &c); err != nil {
		return nil, fmt.Errorf("decode cluster: %w", err)
	}
	var a answer
	if l, err := prepare(f, c); err != nil {
		a.Error = err.Error()
	} else {
		a.Launch = &l
	}
	if text, err = json.Marshal(a); err != nil {
		return nil, fmt.Errorf("encode launch: %w", err)
	}
	return text, nil
}

func prepare(f framework.Framework, c framework.Cluster) (l framework.Launch, err error) {
	defer func() {
		if r := recover(); r != nil {
			l, err = framework.Launch{}, fmt.Errorf("it panics: %v", r)
		}
	}()
	if l, err = f.Prepare(c); err != nil && err.Error() == "" {
		err = errors.New("an error without words")
	}
	return l, err
}

// read takes an answer apart and judges the Launch.
func read(text []byte, c framework.Cluster) (framework.Launch, error) {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return framework.Launch{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	switch {
	case a.Error != "":
		return framework.Launch{}, errors.New(clean(a.Error, 2000))
	case a.Launch == nil:
		return framework.Launch{}, errors.New("its answer is empty")
	}
	if err := framework.Validate(*a.Launch, c); err != nil {
		return framework.Launch{}, fmt.Errorf("its answer is wrong: %w", err)
	}
	return *a.Launch, nil
}

// preparer is the handler's type in the service's description.
type preparer interface {
	prepare(request []byte) ([]byte, error)
}

// description is what protoc would make of
//
//	service Framework { rpc Prepare(BytesValue) returns (BytesValue); }
func description() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*preparer)(nil),
		Methods: []grpc.MethodDesc{{MethodName: method, Handler: func(srv any, ctx context.Context, decode func(any) error, between grpc.UnaryServerInterceptor) (any, error) {
			var in wrapperspb.BytesValue
			if err := decode(&in); err != nil {
				return nil, err
			}
			handle := func(_ context.Context, in any) (any, error) {
				out, err := srv.(preparer).prepare(in.(*wrapperspb.BytesValue).GetValue())
				return wrapperspb.Bytes(out), err
			}
			if between == nil {
				return handle(ctx, &in)
			}
			return between(ctx, &in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/" + service + "/" + method}, handle)
		}}},
	}
}
