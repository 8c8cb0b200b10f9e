package site

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/docs"
	"kqueen.io/kqueen/internal/server/reference"
)

const repository = "../../.." // seen from here

// others are pages of the repository that are not served and lead to those that are.
var others = []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md"}

var (
	idInPage   = regexp.MustCompile(` id="([^"]+)"`)
	linkInPage = regexp.MustCompile(`href="([^"]+)"`)
)

// TestDocumentation: every page is served, needs no script, and leads nowhere else on this server than to what is there.
func TestDocumentation(t *testing.T) {
	mux := http.NewServeMux()
	Register(mux, docs.Pages)
	mux.HandleFunc("GET "+reference.Path, func(http.ResponseWriter, *http.Request) {})
	b, err := read(docs.Pages)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]map[string]bool{stylePath: {}, reference.Path: {}}
	pages := map[string]string{}
	for name := range b.texts {
		answer := get(mux, address(name))
		page := answer.Body.String()
		policy := answer.Header().Get("Content-Security-Policy")
		if answer.Code != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; style-src 'self'") {
			t.Errorf("%s: %d with the policy %q", name, answer.Code, policy)
		}
		for _, bad := range []string{"<script", "<iframe", "<img", "<style", " style=", " onclick", "<!-- raw", "<!-- not run"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %s", name, bad)
			}
		}
		pages[address(name)], ids[address(name)] = page, map[string]bool{}
		for _, found := range idInPage.FindAllStringSubmatch(page, -1) {
			ids[address(name)][found[1]] = true
		}
	}
	for at, page := range pages {
		for _, found := range linkInPage.FindAllStringSubmatch(page, -1) {
			to, part, _ := strings.Cut(found[1], "#")
			if to == "" {
				to = at
			}
			if strings.HasPrefix(to, "https://") {
				continue
			}
			if there, ok := ids[to]; !ok || part != "" && !there[part] {
				t.Errorf("%s leads to %s, which is nowhere", at, found[1])
			}
		}
	}
	repositoryLinks(t, b.texts, ids)
}

// repositoryLinks looks where links lead that a reader of the repository follows, from pages that are served and others.
func repositoryLinks(t *testing.T, served map[string]string, ids map[string]map[string]bool) {
	t.Helper()
	texts := map[string]string{}
	for _, name := range others {
		data, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	for name, text := range served {
		texts["docs/"+name] = text
	}
	written := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\]\\(([^)\\s]+)\\)")
	for name, text := range texts {
		for _, found := range written.FindAllStringSubmatch(text, -1) {
			to, part, _ := strings.Cut(found[1], "#")
			if to == "" || strings.Contains(to, ":") || strings.HasPrefix(to, "/") {
				continue
			}
			target := path.Join(path.Dir(name), to)
			if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
				t.Errorf("%s leads to %s, which is not in the repository", name, found[1])
			}
			page, ok := strings.CutPrefix(target, "docs/")
			if _, known := served[page]; ok && known && part != "" && !ids[address(page)][part] {
				t.Errorf("%s leads to %s, and that page has no such heading", name, found[1])
			}
		}
	}
}

func get(h http.Handler, address string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, nil))
	return answer
}

var small = fstest.MapFS{
	"README.md":          file("# Documentation\n\n## Start\n\n| | |\n|---|---|\n| [A `guide`](guides/a.md) | it |\n| [Top](../TOP.md) | |\n\n## Reference\n\n| [API](reference/api.md) |\n| [Kinds](kinds/README.md) |\n"),
	"guides/a.md":        file("# A `guide`\n\n[b](../kinds/b.md#spec) [self](#part) [out](../../main.go) [*all*](../kinds/README.md) [web](https://example.com/)\n\n<!-- not run: no -->\n```sh\na <b>\n```\n\nIn <b>bold</b>.\n\n| a | |\n|:--|---|\n| 1 | 2 |\n"),
	"kinds/README.md":    file("# Kinds\n\n[b](b.md)\n"),
	"kinds/b.md":         file("No heading.\n"),
	"reference/api.md":   file("# API\n"),
	"reference/main.txt": file("no page"),
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestRender(t *testing.T) {
	b, err := read(small)
	if err != nil {
		t.Fatal(err)
	}
	got, err := render("guides/a.md", b.texts)
	if err != nil {
		t.Fatal(err)
	}
	want := `<h1 id="a-guide">A <code>guide</code></h1>
<p><a href="/docs/kinds/b#spec">b</a> <a href="#part">self</a> out <a href="/docs/kinds"><em>all</em></a> <a href="https://example.com/">web</a></p>
<pre><code class="language-sh">a &lt;b&gt;
</code></pre>
<p>In bold.</p>
<table>
<thead>
<tr>
<th align="left">a</th>
<th></th>
</tr>
</thead>
<tbody>
<tr>
<td align="left">1</td>
<td>2</td>
</tr>
</tbody>
</table>
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAddresses(t *testing.T) {
	mux := http.NewServeMux()
	Register(mux, small)
	cases := map[string]struct {
		code  int
		title string
	}{
		"/docs":                    {http.StatusOK, "Documentation"},
		"/docs/":                   {http.StatusOK, "Documentation"},
		"/docs/README.md":          {http.StatusOK, "Documentation"},
		"/docs/guides/a":           {http.StatusOK, "A guide"},
		"/docs/guides/a.md":        {http.StatusOK, "A guide"},
		"/docs/kinds":              {http.StatusOK, "Kinds"},
		"/docs/kinds/b":            {http.StatusOK, "KQueen"},
		"/docs/guides":             {http.StatusNotFound, ""},
		"/docs/reference/main.txt": {http.StatusNotFound, ""},
		"/docs/style.css":          {http.StatusOK, ""},
	}
	for address, want := range cases {
		answer := get(mux, address)
		if answer.Code != want.code || want.title != "" && !strings.Contains(answer.Body.String(), "<title>"+want.title+" · KQueen</title>") {
			t.Errorf("%s: %d, want %d and the title %q:\n%.300s", address, answer.Code, want.code, want.title, answer.Body)
		}
	}
}

func TestNavigation(t *testing.T) {
	b, err := read(small)
	if err != nil {
		t.Fatal(err)
	}
	want := []part{
		{Title: "Start", Pages: []entry{{Title: "A `guide`", Address: "/docs/guides/a"}}},
		{Title: "Reference", Pages: []entry{
			{Title: "API", Address: "/docs/reference/api"},
			{Title: "REST operations", Address: "/docs/reference/operations"},
			{Title: "Kinds", Address: "/docs/kinds", Here: true},
		}},
	}
	if diff := cmp.Diff(want, marked(b.parts, "/docs/kinds/b")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	page, err := b.made["kinds/README.md"]()
	if err != nil {
		t.Fatal(err)
	}
	for _, has := range []string{`<a rel="prev" href="/docs/reference/api">← API</a>`, `<a rel="next" href="/docs/kinds/b">KQueen →</a>`, `<a href="/docs/kinds" aria-current="page">Kinds</a>`} {
		if !strings.Contains(string(page), has) {
			t.Errorf("the page has no %s:\n%s", has, page)
		}
	}
}
