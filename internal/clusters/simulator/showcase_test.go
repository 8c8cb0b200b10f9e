package simulator

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// answer calls a server as the holder of a token.
func answer(t *testing.T, s http.Handler, token, path string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// everything is what all clusters of a show answer to a list of each kind.
func everything(t *testing.T, s *Show) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range s.Fleet.Names() {
		if s.Cluster(name).failing("api/v1/pods") != 0 {
			continue
		}
		for _, path := range []string{"version", "api/v1/nodes", "api/v1/pods", "api/v1/services", "apis/apps/v1/deployments", "apis/apps/v1/replicasets"} {
			_, all[name+"/"+path] = answer(t, s, "", clustersPath+name+"/"+path)
		}
	}
	return all
}

// TestShowcaseIsTheSame: what is shown is the same at each start, and changes in the same way.
func TestShowcaseIsTheSame(t *testing.T) {
	one, two := Showcase(noon), Showcase(noon)
	first := everything(t, one)
	for range 40 {
		one.Step()
		two.Step()
	}
	if diff := cmp.Diff(everything(t, one), everything(t, two)); diff != "" {
		t.Errorf("-one +two:\n%s", diff)
	}
	if cmp.Equal(first, everything(t, one)) {
		t.Error("nothing has changed")
	}
	if diff := cmp.Diff(Names(), one.Fleet.Names()); diff != "" {
		t.Errorf("-named +shown:\n%s", diff)
	}
}

// items is how many objects a list has, and how many of them are of a namespace.
func items(t *testing.T, body, namespace string) (all, of int) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, o := range list.Items {
		if o.Metadata.Namespace == namespace {
			of++
		}
	}
	return len(list.Items), of
}

// TestShowcaseStays: however long it lives, its pods are as many as at first, and it keeps a bounded part of what happened.
func TestShowcaseStays(t *testing.T) {
	s := Showcase(noon)
	count := func() int {
		n := 0
		for path, body := range everything(t, s) {
			if !strings.HasSuffix(path, "version") {
				all, _ := items(t, body, "")
				n += all
			}
		}
		return n
	}
	before := count()
	for range 5000 {
		s.Step()
	}
	if after := count(); after != before {
		t.Errorf("there are %d objects after a long time, and were %d", after, before)
	}
	for _, c := range s.shown {
		if len(c.events) > 2*eventsKept {
			t.Errorf("%s keeps %d events", c.name, len(c.events))
		}
	}
}

// TestShowcaseAnswers: which paths there are, and which clusters do not answer well, at which times.
func TestShowcaseAnswers(t *testing.T) {
	s := Showcase(noon)
	for name, c := range map[string]struct {
		path string
		want int
	}{
		"Version":    {"shop-eu/version", 200},
		"Ready":      {"shop-eu/readyz", 200},
		"Pods":       {"shop-eu/api/v1/pods", 200},
		"Of one":     {"shop-eu/api/v1/namespaces/storefront/pods", 200},
		"Group":      {"shop-eu/apis/batch/v1/jobs", 200},
		"Metrics":    {"shop-eu/apis/metrics.k8s.io/v1beta1/nodes", 404},
		"Secrets":    {"shop-eu/api/v1/secrets", 404},
		"One object": {"shop-eu/api/v1/namespaces/storefront/pods/web", 404},
		"Watch one":  {"shop-eu/api/v1/namespaces/storefront/pods?watch=true", 404},
		"No cluster": {"other/version", 404},
		"Away":       {"bank-archive/version", 503},
		"Expired":    {"games-partner/version", 401},
		"Not ready":  {"bank-standby/readyz", 500},
		"But there":  {"bank-standby/version", 200},
	} {
		t.Run(name, func(t *testing.T) {
			if got, body := answer(t, s, "", clustersPath+c.path); got != c.want {
				t.Errorf("got %d, want %d: %s", got, c.want, body)
			}
		})
	}
	_, body := answer(t, s, "", clustersPath+"shop-eu/api/v1/namespaces/storefront/pods")
	if all, of := items(t, body, "storefront"); all == 0 || all != of {
		t.Errorf("%d of %d pods are of the namespace", of, all)
	}
	for minute, want := range map[int]int{0: 0, 23: 0, 24: 503, 29: 503, 30: 0, 54: 503} {
		if got := awayAtTimes("version", noon.Add(time.Duration(minute)*time.Minute)); got != want {
			t.Errorf("minute %d: got %d, want %d", minute, got, want)
		}
	}
}

// TestShowcaseForgets: a watch from before a restart is told that its version has expired, and so is one that is too far behind.
func TestShowcaseForgets(t *testing.T) {
	before := Showcase(noon)
	for range 50 {
		before.Step()
	}
	s := Showcase(noon.Add(time.Minute))
	server := httptest.NewServer(s)
	defer server.Close()
	old := strconv.Itoa(before.shown[0].version)
	resp, err := http.Get(server.URL + clustersPath + before.shown[0].name + "/api/v1/pods?watch=true&resourceVersion=" + old)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.Contains(line, "too old resource version") {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestGuarded: a caller needs the token of that very cluster.
func TestGuarded(t *testing.T) {
	secret := []byte("secret")
	s := Guarded(secret, Showcase(noon))
	for name, c := range map[string]struct {
		token, path string
		want        int
	}{
		"its own":       {Token(secret, "shop-eu"), "/clusters/shop-eu/version", 200},
		"of another":    {Token(secret, "shop-us"), "/clusters/shop-eu/version", 401},
		"of another's":  {Token([]byte("other"), "shop-eu"), "/clusters/shop-eu/version", 401},
		"none":          {"", "/clusters/shop-eu/version", 401},
		"no cluster":    {"", "/clusters/none/version", 401},
		"no such path":  {"", "/", 401},
		"of the empty":  {Token(secret, ""), "/", 404},
		"beside others": {Token(secret, "shop-eu"), "/clusters/../shop-us/version", 401},
	} {
		t.Run(name, func(t *testing.T) {
			if got, body := answer(t, s, c.token, c.path); got != c.want {
				t.Errorf("got %d, want %d: %s", got, c.want, body)
			}
		})
	}
}

// TestAccess: each cluster is adopted by a kubeconfig of its own.
func TestAccess(t *testing.T) {
	a := AccessTo("https://127.0.0.1:1", []byte("authority"), []byte("secret"))
	if len(a.Clusters) != len(Names()) {
		t.Fatalf("%d of %d clusters", len(a.Clusters), len(Names()))
	}
	seen := map[string]bool{}
	for _, c := range a.Clusters {
		k, err := a.Kubeconfig(c)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(k), "server: https://127.0.0.1:1/clusters/"+c.Name+"\n") || !strings.Contains(string(k), c.Token) || seen[c.Token] {
			t.Errorf("%s has %s", c.Name, k)
		}
		seen[c.Token] = true
	}
}
