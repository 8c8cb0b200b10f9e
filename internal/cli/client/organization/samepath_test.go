package organization

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
)

// TestOwnerAndMember runs a command as the owner of the machine, who has a data directory and no session, and as a member,
// who has a session and no data directory. Both call the same operations and are told the same.
func TestOwnerAndMember(t *testing.T) {
	var asked []string
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Organization","name":"blue","spec":{},"items":[],"clusters":{"used":3}}`)
	})
	member := httptest.NewTLSServer(answer)
	defer member.Close()
	dir, err := os.MkdirTemp("", "kq") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "api.sock"))
	if err != nil {
		t.Fatal(err)
	}
	owner := httptest.NewUnstartedServer(answer)
	owner.Listener = listener
	owner.Start()
	defer owner.Close()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: member.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}

	type seen struct {
		Asked    []string
		Out, Err string
	}
	run := func(args []string, server, token, dataDir string) seen {
		for name, value := range map[string]string{
			connection.ServerVariable: server, connection.TokenVariable: token, connection.CaVariable: ca, connection.DataDirVariable: dataDir,
			connection.ConfigVariable: filepath.Join(dir, "none.yaml"), connection.OrganizationVariable: "blue",
		} {
			t.Setenv(name, value)
		}
		asked = nil
		var out, words bytes.Buffer
		root := &cobra.Command{Use: "kqueen"}
		e := connection.New(nil, &out, &words)
		root.AddCommand(NewQuotaCommand(e), NewCommand(e))
		root.SetArgs(args)
		if err := root.ExecuteContext(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		return seen{asked, out.String(), words.String()}
	}
	for name, args := range map[string][]string{
		"of an account": {"quota", "-o", "yaml"}, "list objects": {"organization", "list"}, "get an object": {"organization", "get", "blue", "-o", "yaml"},
		"change an object": {"organization", "update", "blue", "--display-name", "Blue"},
	} {
		t.Run(name, func(t *testing.T) {
			asMember, asOwner := run(args, member.URL, "token", ""), run(args, "", "", dir)
			if len(asMember.Asked) == 0 || asMember.Out+asMember.Err == "" {
				t.Fatalf("the member's command asked nothing: %+v", asMember)
			}
			if diff := cmp.Diff(asMember, asOwner); diff != "" {
				t.Errorf("the owner's command differs (-member +owner):\n%s", diff)
			}
		})
	}
}
