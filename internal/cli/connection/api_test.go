package connection

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/cli/exit"
)

// contexts writes a file of contexts, which commands find, and takes from the environment what would come before it.
func contexts(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(ConfigVariable, path)
	for _, name := range []string{DataDirVariable, ServerVariable, TokenVariable, CaVariable} {
		t.Setenv(name, "")
	}
	return path
}

const (
	twoContexts = "currentContext: a\ncontexts:\n- {name: a, server: 'https://a.example', token: ta}\n- {name: b, server: 'https://b.example'}\n"
	damaged     = "contexts: [{name: a, server: 'https://a.example', token: s3cret"
)

// TestElsewhereByContexts: a command that is meant for an installation elsewhere is not given to the one of this machine
// because the file that names the other one is damaged.
func TestElsewhereByContexts(t *testing.T) {
	cases := map[string]struct {
		text  string
		flags Flags
		want  bool
		wrong bool
	}{
		"empty":                     {},
		"signed in":                 {text: twoContexts, want: true},
		"no current one":            {text: strings.ReplaceAll(twoContexts, "currentContext: a", "currentContext: ''")},
		"damaged":                   {text: damaged, wrong: true},
		"damaged, and said another": {text: damaged, flags: Flags{dataDir: "x"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := contexts(t, c.text)
			got, err := (&Env{Flags: c.flags}).Elsewhere()
			if got != c.want || (err != nil) != c.wrong {
				t.Fatalf("got %t, %v, want %t", got, err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--data-dir") || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("got %q, want the file, what to do, and no token", err)
			}
		})
	}
}

func TestWhereTo(t *testing.T) {
	cases := map[string]struct {
		text    string
		context string
		env     map[string]string
		want    Context
		stored  bool
		code    int
		problem string
	}{
		"current":             {text: twoContexts, want: Context{Name: "a", Server: "https://a.example", Token: "ta"}, stored: true},
		"named":               {text: twoContexts, context: "b", want: Context{Name: "b", Server: "https://b.example"}, stored: true},
		"named comes first":   {text: twoContexts, context: "b", env: map[string]string{ServerVariable: "https://c.example"}, want: Context{Name: "b", Server: "https://b.example"}, stored: true},
		"environment":         {text: damaged, env: map[string]string{ServerVariable: "https://c.example", TokenVariable: "tc"}, want: Context{Server: "https://c.example", Token: "tc"}},
		"environment, no CA":  {env: map[string]string{ServerVariable: "https://c.example", CaVariable: "/none/ca.pem"}, code: exit.Failed, problem: "KQUEEN_CA: open /none/ca.pem: "},
		"unknown":             {text: twoContexts, context: "c", code: exit.NotFound, problem: `context "c" not found; see: kqueen context list`},
		"signed in nowhere":   {code: exit.Denied, problem: "sign in with: kqueen login https://SERVER:8443"},
		"current one is gone": {text: "currentContext: c\n", code: exit.NotFound, problem: `context "c" not found`},
		"damaged":             {text: damaged, context: "a", code: exit.Failed, problem: "repair it, or remove it and sign in again"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			contexts(t, c.text)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			got, stored, err := (&Env{Flags: Flags{Context: c.context}}).WhereTo()
			if c.problem != "" {
				if err == nil || exit.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("got %v with code %d, want %q with code %d", err, exit.CodeOf(err), c.problem, c.code)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || stored != c.stored || diff != "" {
				t.Errorf("%v, stored %t (-want +got):\n%s", err, stored, diff)
			}
		})
	}
}

// TestOrganization: which organization a command speaks of is the same before and after it has called.
func TestOrganization(t *testing.T) {
	const text = "currentContext: a\ncontexts:\n- {name: a, server: 'https://a.example', token: t, organization: payments}\n- {name: b, server: 'https://b.example'}\n"
	cases := map[string]struct {
		text, variable string
		flags          Flags
		want           string
	}{
		"nothing said":                  {want: "default"},
		"the context's":                 {text: text, want: "payments"},
		"a context without":             {text: text, flags: Flags{Context: "b"}, want: "default"},
		"the environment's":             {text: text, variable: "lab", want: "lab"},
		"the command line's":            {text: text, variable: "lab", flags: Flags{Organization: "ops"}, want: "ops"},
		"the owner's, beside a context": {text: text, flags: Flags{dataDir: "x"}, want: "default"},
		"damaged":                       {text: damaged, want: "default"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			contexts(t, c.text)
			t.Setenv(OrganizationVariable, c.variable)
			e := &Env{Flags: c.flags}
			if got := e.Organization(); got != c.want {
				t.Fatalf("before a call: got %q, want %q", got, c.want)
			}
			k, _, err := e.WhereTo()
			if elsewhere, _ := e.Elsewhere(); err != nil || !elsewhere {
				return
			}
			if _, err := e.Call(k); err != nil {
				t.Fatal(err)
			}
			if got := e.Organization(); got != c.want {
				t.Errorf("after a call: got %q, want %q", got, c.want)
			}
		})
	}
}
