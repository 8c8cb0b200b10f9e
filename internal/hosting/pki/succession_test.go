package pki

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSuccession: which authority signs what while one takes the place of another, and that the new one is told from the old one by its name.
func TestSuccession(t *testing.T) {
	signers := newFixture(t, start).signers
	for name, tc := range map[string]struct {
		successor              *Successor
		server, client, caller string // who signed apiserver, apiserver-kubelet-client and admin
		authorities            int
	}{
		"None":    {nil, "ca", "ca", "ca", 1},
		"Trusted": {&Successor{ID: "0a1b"}, "ca", "ca", "ca", 2},
		"Signs":   {&Successor{ID: "0a1b", Clients: true}, "ca", "ca", "next-ca", 2},
		"Serves":  {&Successor{ID: "0a1b", Clients: true, Servers: true}, "next-ca", "next-ca", "next-ca", 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := params("a1")
			p.Successor = tc.successor
			set := controlPlaneSet(t, p)
			got, _ := issue(t, nil, set, signers, start)
			for leaf, authority := range map[string]string{"apiserver": tc.server, "apiserver-kubelet-client": tc.client, "admin": tc.caller} {
				if !signedBy(certificate(t, got, leaf), certificate(t, got, authority)) {
					t.Errorf("%s is not signed by %s", leaf, authority)
				}
			}
			if id := got.SignerID("apiserver-kubelet-client"); (id == "0a1b") != (tc.client == "next-ca") {
				t.Errorf("apiserver-kubelet-client is signed by %q", id)
			}
			if n := bytes.Count(got.Trusted(), []byte("BEGIN CERTIFICATE")); n != tc.authorities {
				t.Errorf("%d authorities are trusted", n)
			}
			if tc.successor != nil && certificate(t, got, "next-ca").Subject.CommonName != "kubernetes-ca-0a1b@a1" {
				t.Error("the new authority has the name of the old one")
			}
			// In the place of the old one, the new one signs all without anything being made again, but what the old one signed.
			p.Successor = nil
			promoted := got.Promote()
			after, changes := issue(t, promoted, controlPlaneSet(t, p), signers, start)
			if cmp.Diff(promoted["ca.key"], after["ca.key"]) != "" || tc.server == "next-ca" && len(changes) > 0 {
				t.Errorf("after it was promoted: %v", changes)
			}
			if got.Succeeded() || after.Succeeded() != (tc.successor != nil) {
				t.Errorf("it has succeeded before: %t, after: %t", got.Succeeded(), after.Succeeded())
			}
		})
	}
}

func TestPromoteChangesNothingElse(t *testing.T) {
	have := Bundle{"ca.crt": []byte("a"), "sa.key": []byte("b"), "next-sa.key": []byte("c")}
	if diff := cmp.Diff(Bundle{"ca.crt": []byte("a"), "sa.key": []byte("c")}, have.Promote()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Bundle{"sa.key": []byte("b")}, (Bundle{"sa.key": []byte("b")}).Promote()); diff != "" {
		t.Error(diff)
	}
}
