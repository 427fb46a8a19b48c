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

// Protocol is the protocol version of this package.
const Protocol = 1

// mostBytes is the size limit of a message in bytes, either way: about 8,000 processes with 20
// variables.
const mostBytes = 32 << 20

const (
	service = "muster.framework.v1.Framework"
	method  = "Prepare"
)

// handshake tells a plugin that Muster started it. The cookie is not a secret: it only keeps users
// from starting plugins by hand.
func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion:  Protocol,
		MagicCookieKey:   "MUSTER_PLUGIN_COOKIE",
		MagicCookieValue: "framework",
	}
}

// answer is the reply of a plugin: a Launch, or the reason why there is none.
type answer struct {
	Launch *framework.Launch `json:",omitempty"`
	Error  string            `json:",omitempty"`
}

// ask returns the request for a cluster. JSON would change text that is not UTF-8. So ask returns
// an error for such a word or name, and leaves such a variable out.
func ask(c framework.Cluster) ([]byte, error) {
	c.UserEnv = public(c.UserEnv)
	for _, word := range c.Command {
		if !utf8.ValidString(word) {
			return nil, fmt.Errorf("the word %q of the command is not UTF-8", word)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode cluster: %w", err)
	}
	return text, nil
}

// public returns the variables that a plugin may see.
func public(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return framework.LooksSecret(name) || !utf8.ValidString(kv)
	})
}

// reply returns the answer to a request; a panic in f becomes an error.
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
		err = errors.New("an error without a message")
	}
	return l, err
}

// read decodes an answer and validates its Launch.
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

// preparer is the type of the handler in the service description.
type preparer interface {
	prepare(request []byte) ([]byte, error)
}

// description is what protoc would generate from
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
