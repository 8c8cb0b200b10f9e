package client

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

func TestFill(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"plain":       {[]string{"blue", "demo"}, "/organizations/blue/clusters/demo"},
		"slash":       {[]string{"blue/../red", "demo"}, "/organizations/blue%2F..%2Fred/clusters/demo"},
		"query":       {[]string{"blue", "demo?x=1#y"}, "/organizations/blue/clusters/demo%3Fx=1%23y"},
		"dots":        {[]string{"..", "demo"}, ""},
		"dot":         {[]string{"blue", "."}, ""},
		"empty":       {[]string{"blue", ""}, ""},
		"one missing": {[]string{"blue"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := fill("/organizations/{organization}/clusters/{cluster}", c.args)
			if got != c.want || (err != nil) != (c.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestOperation wants an operation to be called by its method, under its escaped path, with what it was given.
func TestOperation(t *testing.T) {
	a := newAuthority(t, "kqueen-api")
	var called, asked string
	server := serve(t, a.chain(t, []*authority{a}), func(w http.ResponseWriter, r *http.Request) {
		var in rest.CredentialRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		called, asked = r.Method+" "+r.URL.EscapedPath(), in.Access
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(rest.ClusterCredential{Token: "t", Expires: time.Unix(1, 0).UTC(), Access: "view"})
	})
	c, err := New(Config{Connection: Connection{Server: server.URL, CA: a.pem()}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.IssueCredential(t.Context(), "blue", "a b/c", rest.CredentialRequest{Access: "view"})
	if err != nil || got.Token != "t" || asked != "view" {
		t.Errorf("got %+v, %v; asked for %q", got, err, asked)
	}
	if want := "POST /api/v1/organizations/blue/clusters/a%20b%2Fc/credential"; called != want {
		t.Errorf("called %q, want %q", called, want)
	}
}

func TestOperations(t *testing.T) {
	all := Operations()
	for i, o := range all {
		if o.ID == "" || o.Method == "" || !strings.HasPrefix(o.Path, "/") || i > 0 && all[i-1].ID >= o.ID {
			t.Errorf("%+v is not whole, or out of order", o)
		}
	}
}
