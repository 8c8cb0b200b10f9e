package connection

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestDecodeContexts(t *testing.T) {
	cases := map[string]struct{ text, problem string }{
		"empty":         {"", ""},
		"one":           {"currentContext: a\ncontexts:\n- {name: a, server: 'https://a.example'}\n", ""},
		"unknown field": {"contexts:\n- {name: a, server: 'https://a.example', color: red}\n", "it is not a file of contexts"},
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

func TestElsewhere(t *testing.T) {
	cases := map[string]struct {
		flags Flags
		env   map[string]string
		want  bool
		wrong bool
	}{
		"nothing":                   {},
		"data dir":                  {flags: Flags{dataDir: "x"}, env: map[string]string{ServerVariable: "https://a"}},
		"data dir of env":           {env: map[string]string{DataDirVariable: "x", ServerVariable: "https://a"}},
		"server":                    {env: map[string]string{ServerVariable: "https://a"}, want: true},
		"context":                   {flags: Flags{Context: "a"}, want: true},
		"context before env":        {flags: Flags{Context: "a"}, env: map[string]string{DataDirVariable: "x"}, want: true},
		"context beside a data dir": {flags: Flags{Context: "a", dataDir: "x"}, wrong: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(ConfigVariable, t.TempDir()+"/none")
			for _, name := range []string{DataDirVariable, ServerVariable} {
				t.Setenv(name, c.env[name])
			}
			got, err := (&Env{Flags: c.flags}).Elsewhere()
			if got != c.want || (err != nil) != c.wrong {
				t.Errorf("got %t, %v, want %t", got, err, c.want)
			}
		})
	}
}
