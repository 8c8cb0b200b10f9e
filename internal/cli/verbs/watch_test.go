package verbs

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// streams is a server of the cluster demo whose watches say, one after the other, what is in them. What comes after the
// last is refused.
type streams struct {
	watches [][]string
	next    atomic.Int32
}

// ServeHTTP implements http.Handler.
func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		clitest.Say(w, http.StatusOK, clitest.JSON, demo("False"))
		return
	}
	n := int(s.next.Add(1)) - 1
	if n >= len(s.watches) {
		clitest.Say(w, http.StatusForbidden, clitest.Problem, `{"code":"forbidden","detail":"no more"}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range s.watches[n] {
		_, _ = w.Write([]byte(event))
	}
}

// demo is a cluster, ready or not.
func demo(ready string) string {
	return fmt.Sprintf(`{"kind":"Cluster","name":"demo","organization":"blue","uid":"u","revision":"2","status":{"conditions":[{"type":"Ready","status":%q,"message":"waits"}]}}`, ready)
}

// said is an event of a watch.
func said(event, object string) string {
	if object != "" {
		object = `,"object":` + object
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"revision\":\"3\"%s}\n\n", event, event, object)
}

func give(t *testing.T, s *streams, args ...string) (data, words string, err error) {
	t.Helper()
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, s))
	t.Setenv(connection.OrganizationVariable, "blue")
	var out, told bytes.Buffer
	e := connection.New(nil, &out, &told)
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(WaitCommand(e, kinds.Cluster, "Accepted"), GetCommand(e, kinds.Cluster))
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return out.String(), told.String(), err
}

// TestWaitThroughAnOutage: a server that breaks off before it has said all is told of once, and waited for.
func TestWaitThroughAnOutage(t *testing.T) {
	added, all := said(rest.EventAdded, demo("False")), said(rest.EventBookmark, "")
	there := &streams{watches: [][]string{{added}, {added, all, said(rest.EventModified, demo("True"))}}}
	_, words, err := give(t, there, "wait", "demo")
	if err != nil || strings.Count(words, "lost the connection to KQueen, retrying: ") != 1 || !strings.Contains(words, "cluster demo is ready after ") {
		t.Errorf("%v, said\n%s", err, words)
	}
	// What the server refuses in the middle is no outage.
	_, words, err = give(t, &streams{watches: [][]string{{added}}}, "wait", "demo")
	if exit.CodeOf(err) != exit.Denied || strings.Contains(words, "is ready") {
		t.Errorf("%v, said\n%s", err, words)
	}
}

// TestWaitForOneOfSeveral: which one it is, is said before its steps, which are called as those of the others.
func TestWaitForOneOfSeveral(t *testing.T) {
	there := &streams{watches: [][]string{{said(rest.EventAdded, demo("True")), said(rest.EventBookmark, "")}}}
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, there))
	t.Setenv(connection.OrganizationVariable, "blue")
	var told bytes.Buffer
	e := connection.New(nil, nil, &told)
	c, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	err = Await(t.Context(), e, c, Waiting{Kind: kinds.Cluster, Name: "demo", Goal: v1alpha1.ConditionReady, Timeout: time.Minute, Named: true, Quiet: true})
	if words := told.String(); err != nil || !strings.HasPrefix(words, "waiting for cluster demo to be Ready\n") {
		t.Errorf("%v, said\n%s", err, words)
	}
}

// TestGetWatch: one object is shown as it changes, and that it is gone is said.
func TestGetWatch(t *testing.T) {
	gone := "event: problem\ndata: {\"status\":403,\"code\":\"forbidden\",\"detail\":\"no more\"}\n\n"
	there := &streams{watches: [][]string{{
		said(rest.EventAdded, demo("False")), said(rest.EventBookmark, ""), said(rest.EventModified, demo("True")), said(rest.EventDeleted, demo("True")), gone,
	}}}
	data, words, err := give(t, there, "get", "demo", "--watch", "-o", "jsonpath={.status.conditions[0].status} ")
	if exit.CodeOf(err) != exit.Denied || data != "False True " || words != "cluster demo is gone\n" {
		t.Errorf("%v, printed %q and said %q", err, data, words)
	}
}
