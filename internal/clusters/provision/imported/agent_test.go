//go:build linux

package imported

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/enrollment"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/tunnel"
)

// agents reach one server, or fail.
type agents struct {
	address string
	err     error
}

func (a agents) Open(string) (net.Conn, error) {
	if a.err != nil {
		return nil, a.err
	}
	return net.Dial("tcp", a.address)
}

// byAgent is a cluster with the record of an agent.
func byAgent(record []byte) provision.Target {
	return provision.Target{
		Ref:                provision.Ref{UID: uuid.NewUUID(), Namespace: "acme", Name: "far"},
		ClusterCredentials: provision.Credentials{v1alpha1.CredentialAgent: record},
	}
}

// TestObserveByAgent: what is known of a cluster by its agent, and why nothing is where it is not there.
func TestObserveByAgent(t *testing.T) {
	enrolled, err := (&enrollment.Record{Identity: []byte("hash"), Instance: "i"}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion":"v1.35.1"}`))
		}
	}))
	defer server.Close()
	at := server.Listener.Addr().String()
	seen := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		record []byte
		agents agents
		status int
		is     error
		says   string
	}{
		"Connected":    {enrolled, agents{address: at}, 200, nil, ""},
		"Pending":      {[]byte(`{"oneTime":{"hash":"aGFzaA=="}}`), agents{address: at}, 200, provision.ErrPending, "kqueen cluster import far --agent"},
		"Damaged":      {[]byte(`{`), agents{address: at}, 200, nil, "enroll the agent again"},
		"Coming again": {enrolled, agents{err: &tunnel.OfflineError{Seen: seen}}, 200, provision.ErrUnreachable, "about to connect again"},
		"Offline":      {enrolled, agents{err: &tunnel.OfflineError{Seen: seen, Lost: true}}, 200, provision.ErrOffline, "heard last at 2026-11-25T10:00:00Z"},
		"No API":       {enrolled, agents{address: at}, 502, provision.ErrUnreachable, "the agent in it does not reach the API server"},
		"No rights":    {enrolled, agents{address: at}, 403, provision.ErrCredentials, "system:discovery"},
	} {
		t.Run(name, func(t *testing.T) {
			status = tc.status
			o, err := New(Config{Agents: tc.agents, Version: "test"}).Observe(t.Context(), byAgent(tc.record))
			switch {
			case tc.says == "":
				if err != nil || o.Version != "v1.35.1" || o.State != provision.Healthy || o.Endpoint != "" {
					t.Errorf("%+v, %v", o, err)
				}
			case err == nil || !strings.Contains(err.Error(), tc.says) || tc.is != nil && !errors.Is(err, tc.is):
				t.Errorf("got %v, want %v with %q", err, tc.is, tc.says)
			}
		})
	}
}
