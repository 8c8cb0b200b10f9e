package connection

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/exit"
)

// TestExplain: the user is told which server does not answer, and what helps.
func TestExplain(t *testing.T) {
	refused := func(network, address string) error {
		return &url.Error{Op: "Get", URL: address, Err: &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	}
	const own, there, cluster = "unix:///d/api.sock", "https://k.example:8443", "https://127.0.0.1:20001/api/v1/nodes/a"
	unknown := &client.Problem{Status: 401, Code: rest.CodeUnauthenticated, Detail: "who are you"}
	cases := map[string]struct {
		server    string
		signingIn bool
		env       string
		err       error
		want      string
	}{
		"the owner's is away":             {server: own, err: refused("unix", "http://kqueen/api/v1/me"), want: "KQueen is not running in d; start it with: kqueen up --data-dir d"},
		"the server is away":              {server: there, err: refused("tcp", there+"/api/v1/me"), want: `KQueen does not answer at https://k.example:8443: Get "https://k.example:8443/api/v1/me": dial tcp: connect: connection refused`},
		"at the first contact":            {server: there, err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, want: "KQueen does not answer at https://k.example:8443: dial tcp: connection refused"},
		"the owner's cluster is away":     {server: own, err: refused("tcp", cluster), want: `Get "https://127.0.0.1:20001/api/v1/nodes/a": dial tcp: connect: connection refused`},
		"a cluster of a server is away":   {server: there, err: refused("tcp", cluster), want: `Get "https://127.0.0.1:20001/api/v1/nodes/a": dial tcp: connect: connection refused`},
		"the session has ended":           {server: there, err: unknown, want: "who are you\nyour session or token has expired; sign in with: kqueen login --data-dir d"},
		"the environment's token":         {server: there, env: there, err: unknown, want: "who are you\nthe token in KQUEEN_TOKEN has expired or was revoked; set it to another"},
		"the password is not right":       {server: there, signingIn: true, err: unknown, want: "who are you"},
		"a proxy finds no server":         {server: there, err: &client.Problem{Status: 502}, want: "the server answers 502 Bad Gateway"},
		"what is refused for its content": {server: there, err: &client.Problem{Status: 422, Detail: "no"}, want: "no"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(ServerVariable, c.env)
			e := &Env{Flags: Flags{dataDir: "d"}, Server: c.server, SigningIn: c.signingIn}
			if diff := cmp.Diff(c.want, e.Explain(c.err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFinish: what a command ended with is its exit code, and an interruption is one of its own, whatever error it caused.
func TestFinish(t *testing.T) {
	live := t.Context()
	dead, cancel := context.WithCancel(live)
	cancel()
	cases := map[string]struct {
		ctx  context.Context
		err  error
		code int
		said string
	}{
		"done":         {live, nil, exit.OK, ""},
		"done in time": {dead, nil, exit.OK, ""},
		"failed":       {live, exit.Fail(exit.NotFound, "none \x1b[2J"), exit.NotFound, "error: none [2J\n"},
		"interrupted":  {dead, io.ErrUnexpectedEOF, exit.Interrupted, "interrupted\n"},
	}
	for name, c := range cases {
		var said bytes.Buffer
		if code := New(nil, nil, &said).Finish(c.ctx, c.err); code != c.code || said.String() != c.said {
			t.Errorf("%s: code %d and %q, want %d and %q", name, code, said.String(), c.code, c.said)
		}
	}
}
