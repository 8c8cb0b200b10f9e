package demo

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/clusters/simulator"
	"kqueen.io/kqueen/internal/platform/stage"
)

// installation is a REST API that keeps what it is given, and does nothing with it: all objects are ready at once.
type installation struct {
	t *testing.T
	// objects, kubeconfigs and passwords are by path, passwords by user.
	objects                map[string]rest.Object
	kubeconfigs, passwords map[string]string
	forced                 map[string]bool
	// created counts what came to be, by path.
	created map[string]int
	// calls is how many there were, and fails the number of the one that fails; after says that it fails when it was done.
	calls, fails int
	after        bool
	// noNodes has it refuse pools.
	noNodes bool
}

func newInstallation(t *testing.T) *installation {
	in := &installation{t: t, objects: map[string]rest.Object{}, kubeconfigs: map[string]string{}, passwords: map[string]string{}, forced: map[string]bool{}, created: map[string]int{}}
	for _, version := range []string{"v1.36.9", "v1.36.10", "v1.35.4"} {
		in.put("/releases/"+version, rest.Input{Name: version})
	}
	in.put("/organizations/default", rest.Input{Name: "default"})
	return in
}

func (in *installation) put(path string, wanted rest.Input) rest.Object {
	kinds := map[string]string{"organizations": "Organization", "clusters": "Cluster", "nodepools": "NodePool", "releases": "Release", "users": "User"}
	parts := strings.Split(path, "/")
	o := rest.Object{
		Kind: kinds[parts[len(parts)-2]], Name: wanted.Name, Labels: wanted.Labels, Spec: wanted.Spec, Generation: 1, Revision: "1",
		Status: json.RawMessage(`{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}`),
	}
	if len(parts) > 3 {
		o.Organization = parts[2]
	}
	in.objects[path] = o
	in.created[path]++
	return o
}

func (in *installation) problem(w http.ResponseWriter, status int, code, detail string, fields ...rest.FieldError) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(rest.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Errors: fields}) //nolint:errchkjson // the test sees what it was answered
}

func (in *installation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in.calls++
	if in.calls == in.fails {
		if in.after {
			in.serve(httptest.NewRecorder(), r)
		}
		in.problem(w, http.StatusInternalServerError, rest.CodeInternal, "it fails as it was asked to")
		return
	}
	in.serve(w, r)
}

func (in *installation) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, rest.Prefix)
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	send := func(v any) { _ = json.NewEncoder(w).Encode(v) } //nolint:errchkjson // the test sees what it was answered
	var body struct {
		rest.Input

		Token, Password, Kubeconfig string
	}
	if r.Method != http.MethodGet && r.ContentLength != 0 {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			in.t.Errorf("%s %s: %v", r.Method, path, err)
		}
	}
	user := func(name string) rest.User { return rest.User{Name: name, HasPassword: in.passwords[name] != ""} }
	switch {
	case path == "/password":
		in.passwords[strings.TrimPrefix(body.Token, "token of ")] = body.Password
	case last == "reset":
		send(rest.OneTime{Token: "token of " + parts[2]})
	case last == "credentials" && r.Method == http.MethodPut:
		in.kubeconfigs[path], in.forced[path] = body.Kubeconfig, r.URL.Query().Get("force") == "true"
	case last == "credentials":
		keys := rest.CredentialKeys{Keys: []string{}}
		if in.kubeconfigs[path] != "" {
			keys.Keys = []string{"kubeconfig"}
		}
		send(keys)
	case last == "nodepools" && in.noNodes:
		in.problem(w, http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", rest.FieldError{Pointer: "/spec/template/provider", Detail: "Forbidden: this host has no cgroups"})
	case r.Method == http.MethodPost:
		o := in.put(path+"/"+body.Name, body.Input)
		if parts[1] == "users" {
			send(user(body.Name))
			return
		}
		send(o)
	default:
		in.get(w, path, user, send)
	}
}

func (in *installation) get(w http.ResponseWriter, path string, user func(string) rest.User, send func(any)) {
	o, found := in.objects[path]
	switch {
	case found && o.Kind == "User":
		send(user(o.Name))
	case found:
		send(o)
	case strings.Count(path, "/") == 1 && path != "/users":
		var list rest.List
		for _, at := range slices.Sorted(maps.Keys(in.objects)) {
			if strings.HasSuffix(filepath.Dir(at), path) {
				list.Items = append(list.Items, in.objects[at])
			}
		}
		send(list)
	default:
		in.problem(w, http.StatusNotFound, rest.CodeNotFound, "not found")
	}
}

// seed returns what fills an installation, with the file of passwords in a folder.
func (in *installation) seed(t *testing.T, folder string) *Seed {
	t.Helper()
	server := httptest.NewTLSServer(in)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	api, err := client.New(client.Config{Connection: client.Connection{Server: server.URL, CA: ca}})
	if err != nil {
		t.Fatal(err)
	}
	return &Seed{
		API: api, Access: simulator.AccessTo("https://127.0.0.1:1", nil, []byte("secret")), Users: filepath.Join(folder, "users.txt"),
		Look: time.Millisecond, NodesWithin: time.Minute, Report: func(stage.Step) {},
	}
}

// check fails when an installation is not filled as it should be: everything is there, once, and the file has the passwords.
func (in *installation) check(t *testing.T, s *Seed) {
	t.Helper()
	for path, n := range in.created {
		if n != 1 {
			t.Errorf("%s was created %d times", path, n)
		}
	}
	known, err := readPasswords(s.Users)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in.passwords, map[string]string(known)); diff != "" || len(known) != len(users()) {
		t.Errorf("-set +in the file:\n%s", diff)
	}
	if len(in.kubeconfigs) != len(s.Access.Clusters) {
		t.Errorf("%d clusters are adopted, of %d", len(in.kubeconfigs), len(s.Access.Clusters))
	}
	for _, path := range []string{"/organizations/shop/clusters/checkout", "/organizations/shop/nodepools/workers"} {
		if in.created[path] != 1 {
			t.Errorf("there is no %s", path)
		}
	}
}

// TestSeed: a new installation is filled, and a second time nothing changes.
func TestSeed(t *testing.T) {
	in := newInstallation(t)
	s := in.seed(t, t.TempDir())
	for range 2 {
		made, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := Made{Organizations: 3, Users: 8, Simulated: 11, Hosted: "shop/checkout", Nodes: 2}
		if diff := cmp.Diff(want, made); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		in.check(t, s)
	}
	info, err := os.Stat(s.Users)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of passwords: %v, %v", info.Mode(), err)
	}
	for path, o := range in.objects {
		simulated := o.Labels["kqueen.io/simulated"] == "true"
		if o.Kind == "Cluster" && simulated != (o.Name != hostedName) {
			t.Errorf("%s has the labels %v", path, o.Labels)
		}
	}
	if !in.forced["/organizations/bank/clusters/bank-archive/credentials"] || in.forced["/organizations/shop/clusters/shop-eu/credentials"] {
		t.Errorf("forced: %v", in.forced)
	}
	if spec := string(in.objects["/organizations/shop/clusters/checkout"].Spec); !strings.Contains(spec, `"v1.36.10"`) {
		t.Errorf("the hosted cluster is %s", spec)
	}
	there, err := s.Present(t.Context())
	if err != nil || Refusal(there) == nil || len(there.Users) != 8 || len(there.Clusters) != 12 {
		t.Errorf("present: %+v, %v", there, err)
	}
}

// TestSeedGoesOn: whichever call fails, before or after it was done, the next run makes what is missing and nothing twice.
func TestSeedGoesOn(t *testing.T) {
	whole := newInstallation(t)
	if _, err := whole.seed(t, t.TempDir()).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for fails := 1; fails <= whole.calls; fails++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(fails, after), func(t *testing.T) {
				in := newInstallation(t)
				in.fails, in.after = fails, after
				s := in.seed(t, t.TempDir())
				if _, err := s.Run(t.Context()); err == nil {
					t.Fatal("the failure is not told")
				}
				if _, err := s.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				in.check(t, s)
			})
		}
	}
}

// TestSeedWithoutNodes: a host that cannot have nodes says why, and has all else.
func TestSeedWithoutNodes(t *testing.T) {
	in := newInstallation(t)
	in.noNodes = true
	made, err := in.seed(t, t.TempDir()).Run(t.Context())
	if err != nil || made.Nodes != 0 || made.Without != "this host has no cgroups" {
		t.Errorf("%+v, %v", made, err)
	}
}
