package cli

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

func TestDecodeContexts(t *testing.T) {
	cases := map[string]struct{ text, problem string }{
		"empty":         {"", ""},
		"one":           {"currentContext: a\ncontexts:\n- {name: a, server: 'https://a.example'}\n", ""},
		"unknown field": {"contexts:\n- {name: a, server: 'https://a.example', color: red}\n", "it is no file of contexts"},
		"twice":         {"contexts:\n- {name: a, server: 'https://a.example'}\n- {name: a, server: 'https://b.example'}\n", "is there twice"},
		"name":          {"contexts:\n- {name: ../a, server: 'https://a.example'}\n", "contexts[0].name"},
		"plain":         {"contexts:\n- {name: a, server: 'http://a.example'}\n", "contexts[0].server"},
		"too long":      {strings.Repeat(" ", maxConfig+1), "it is longer than"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := decodeContexts([]byte(c.text))
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got %v, want %q", err, c.problem)
			}
		})
	}
}

// FuzzDecodeContexts wants what is read to be written and read again as the same.
func FuzzDecodeContexts(f *testing.F) {
	f.Add([]byte("currentContext: a\ncontexts:\n- {name: a, server: 'https://a.example', authority: x, token: t}\n"))
	f.Add([]byte("contexts: secret"))
	f.Fuzz(func(t *testing.T, data []byte) {
		known, err := decodeContexts(data)
		if err != nil {
			return
		}
		text, err := yaml.Marshal(known)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeContexts(text)
		if len(text) <= maxConfig && (err != nil || len(again.Contexts) != len(known.Contexts)) {
			t.Fatalf("%q is read as %+v and again as %+v, %v", data, known, again, err)
		}
	})
}

func TestContextName(t *testing.T) {
	for server, want := range map[string]string{
		"https://kqueen.example.com":                   "kqueen.example.com",
		"https://kqueen.example.com:8443":              "kqueen.example.com",
		"https://kqueen.example.com:9443":              "kqueen.example.com-9443",
		"https://[::1]:8443":                           "1",
		"https://[fe80::1]:8444":                       "fe80--1-8444",
		"https://" + strings.Repeat("a", 80) + ":8443": strings.Repeat("a", 64),
	} {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		if got := contextName(u); got != want || !contextPattern.MatchString(got) {
			t.Errorf("%s: got %q, want %q", server, got, want)
		}
	}
}

func TestThroughDoor(t *testing.T) {
	cases := map[string]struct {
		globals globals
		env     map[string]string
		want    bool
		wrong   bool
	}{
		"nothing":                   {},
		"data dir":                  {globals: globals{dataDir: "x"}, env: map[string]string{serverVariable: "https://a"}},
		"kubeconfig":                {globals: globals{kubeconfig: "x"}, env: map[string]string{serverVariable: "https://a"}},
		"data dir of env":           {env: map[string]string{dataDirVariable: "x", serverVariable: "https://a"}},
		"server":                    {env: map[string]string{serverVariable: "https://a"}, want: true},
		"context":                   {globals: globals{context: "a"}, want: true},
		"context before env":        {globals: globals{context: "a"}, env: map[string]string{dataDirVariable: "x"}, want: true},
		"context beside a data dir": {globals: globals{context: "a", dataDir: "x"}, wrong: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(configVariable, t.TempDir()+"/none")
			for _, name := range []string{dataDirVariable, serverVariable} {
				t.Setenv(name, c.env[name])
			}
			got, err := (&env{globals: c.globals}).throughDoor()
			if got != c.want || (err != nil) != c.wrong {
				t.Errorf("got %t, %v, want %t", got, err, c.want)
			}
		})
	}
}

func TestReadCredential(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	path := t.TempDir() + "/credential"
	for text, want := range map[string]bool{
		`{"token":"t","expires":"2030-01-01T00:10:00Z"}`: true,
		`{"token":"t","expires":"2030-01-01T00:02:00Z"}`: false,
		`{"token":"t","expires":"2029-01-01T00:00:00Z"}`: false,
		`{"token":"","expires":"2030-01-01T00:10:00Z"}`:  false,
		`{"token":"t","exp`: false,
		``:                  false,
	} {
		if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readCredential(path, now) != nil; got != want {
			t.Error(cmp.Diff(want, got), text)
		}
	}
}
