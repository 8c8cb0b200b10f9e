package pages_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/docs"
	"kqueen.io/kqueen/test/pages"
)

const root = "../.." // of the repository, seen from here

var update = flag.Bool("update", false, "write which blocks are not run")

// TestPages: every block of commands of the documentation is run by an end-to-end test, or says why not; and users find every
// page. The golden has all that are not run, so that one more is seen in a review.
func TestPages(t *testing.T) {
	all, err := pages.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	var left []string
	for _, page := range slices.Sorted(maps.Keys(all)) {
		blocks, err := pages.Blocks(page, all[page])
		if err != nil {
			t.Error(err)
		}
		for _, b := range blocks {
			if err := b.Check(); err != nil {
				t.Error(err)
			}
			switch {
			case b.By != "" && !scripted(t, b):
				t.Errorf("%s:%d: test/e2e/testdata/%s.txtar has no line %q, so that nothing runs the block", b.Page, b.Line, b.By, "page "+b.Page)
			case b.NotRun != "":
				left = append(left, b.Page+": "+b.NotRun)
			case b.Language == pages.Commands:
				run++
			}
		}
	}
	t.Logf("%d blocks of commands are run", run)
	got := fmt.Sprintf("%d blocks of commands are not run:\n%s\n", len(left), strings.Join(left, "\n"))
	golden := filepath.Join("testdata", "notrun.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run what can be run, and bless the rest with -update (-want +got):\n%s", diff)
	}
	ordered := docs.Order(all, "docs/README.md")
	for page := range all {
		if strings.HasPrefix(page, "docs/") && !slices.Contains(ordered, page) {
			t.Errorf("%s is in no index: link to it in docs/README.md, or in the README.md of its folder", page)
		}
	}
}

// scripted says whether the script that a block names runs the block's page.
func scripted(t *testing.T, b pages.Block) bool {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, "test", "e2e", "testdata", b.By+".txtar"))
	if err != nil {
		t.Error(err)
	}
	return slices.Contains(strings.Split(string(script), "\n"), "page "+b.Page)
}

func TestCheck(t *testing.T) {
	cases := map[string]struct {
		block pages.Block
		wrong string
	}{
		"Commands":  {block: pages.Block{Language: "sh", Text: "kqueen up\n"}},
		"Session":   {block: pages.Block{Language: "console", Text: "$ kqueen status\nready\n"}},
		"Generated": {block: pages.Block{Page: "docs/reference/cli/up.md", Language: "console", Text: "kqueen up\n"}},
		"Hidden": {
			block: pages.Block{Page: "p.md", Line: 3, Language: "bash", Text: "kqueen up\n"},
			wrong: `p.md:3: the block has the language "bash"; want one of sh, console, text, yaml, json, go, ini`,
		},
		"None": {
			block: pages.Block{Page: "p.md", Line: 3},
			wrong: `p.md:3: the block has the language ""; want one of sh, console, text, yaml, json, go, ini`,
		},
		"NoPrompt": {
			block: pages.Block{Page: "p.md", Line: 3, Language: "console", Text: "kqueen up\n"},
			wrong: `p.md:3: a block of console shows a terminal and begins with "$ "; commands alone are a block of sh, with a reason where they are not run`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			said := ""
			if err := c.block.Check(); err != nil {
				said = err.Error()
			}
			if said != c.wrong {
				t.Errorf("error %q, want %q", said, c.wrong)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	const commands, other = "```sh\nkqueen up\n```\n", "```yaml\nkind: Cluster\n```\n"
	block := func(line int, change func(*pages.Block)) pages.Block {
		b := pages.Block{Page: "p.md", Line: line, Language: "sh", Text: "kqueen up\n"}
		change(&b)
		return b
	}
	plain := block(1, func(*pages.Block) {})
	cases := map[string]struct {
		text  string
		want  []pages.Block
		wrong string
	}{
		"None":   {text: "Text with ```sh in it.\n"},
		"Run":    {text: commands, want: []pages.Block{plain}},
		"NotRun": {text: "<!-- not run: needs systemd -->\n" + commands, want: []pages.Block{block(2, func(b *pages.Block) { b.NotRun = "needs systemd" })}},
		"By":     {text: "<!-- run by: first-hour -->\n" + commands, want: []pages.Block{block(2, func(b *pages.Block) { b.By = "first-hour" })}},
		"File": {
			text: "<!-- run as: c.yaml -->\n" + other,
			want: []pages.Block{{Page: "p.md", Line: 2, Language: "yaml", Text: "kind: Cluster\n", File: "c.yaml"}},
		},
		"OtherComment": {text: "<!-- generated -->\n" + commands, want: []pages.Block{block(2, func(*pages.Block) {})}},
		"Two":          {text: commands + "\n" + commands, want: []pages.Block{plain, block(5, func(*pages.Block) {})}},
		"InList":       {text: "1. Do\n\n   " + strings.ReplaceAll(strings.TrimSpace(commands), "\n", "\n   "), want: []pages.Block{block(3, func(b *pages.Block) { b.Text = "   kqueen up\n" })}},
		"LongFence": {
			text: "````sh\n" + commands + "````\n",
			want: []pages.Block{block(1, func(b *pages.Block) { b.Text = commands })},
		},

		"NoReason":   {text: "<!-- not run: -->\n" + commands, wrong: `p.md:2: the comment "<!-- not run: -->" says nothing; want a reason, or the name of a file`},
		"NotBefore":  {text: "<!-- not run: needs systemd -->\n\n" + commands, wrong: `p.md:2: the comment "<!-- not run: needs systemd -->" is not directly before a block`},
		"NeverRun":   {text: "<!-- not run: needs systemd -->\n" + other, wrong: `p.md:2: the comment "<!-- not run: needs systemd -->" is before a block of "yaml", which is never run`},
		"NotClosed":  {text: "```sh\nkqueen up\n", wrong: "p.md:1: the block is not closed"},
		"FarIndent":  {text: "     " + commands, wrong: "p.md:1: the block is indented by 5 spaces; want 3 at most"},
		"NeverBy":    {text: "<!-- run by: first-hour -->\n" + other, wrong: `p.md:2: the comment "<!-- run by: first-hour -->" is before a block of "yaml", which is never run`},
		"AtTheEnd":   {text: "<!-- not run: needs systemd -->\n", wrong: `p.md:2: the comment "<!-- not run: needs systemd -->" is not directly before a block`},
		"BeforeText": {text: "<!-- run as: c.yaml -->\nText\n", wrong: `p.md:2: the comment "<!-- run as: c.yaml -->" is not directly before a block`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := pages.Blocks("p.md", c.text)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" || said != c.wrong {
				t.Errorf("blocks (-want +got):\n%s\nerror %q, want %q", diff, said, c.wrong)
			}
		})
	}
}

func TestScript(t *testing.T) {
	left := []pages.Block{
		{Page: "p.md", Line: 1, Language: "sh", Text: "make up\n", NotRun: "builds"},
		{Page: "p.md", Line: 3, Language: "yaml", Text: "kind: Cluster\n"},
		{Page: "p.md", Line: 7, Language: "sh", Text: "kqueen down\n", By: "first-hour"},
	}
	if got := pages.Script(left, ""); got != "" {
		t.Errorf("there is nothing to run, and the script is\n%s", got)
	}
	blocks := slices.Concat(left, []pages.Block{{Page: "p.md", Line: 5, Language: "sh", Text: "a=1\n"}, {Page: "p.md", Line: 9, Language: "sh", Text: "echo $a\n"}})
	want := "set -euo pipefail\ntrap '[ $? = 0 ] || echo \"failed: the block at $at\" >&2' EXIT\nat=p.md:5\na=1\nat=p.md:9\necho $a\n"
	if diff := cmp.Diff(want, pages.Script(blocks, "")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = "set -euo pipefail\ntrap '[ $? = 0 ] || echo \"failed: the block at $at\" >&2' EXIT\nat=p.md:7\nkqueen down\n"
	if diff := cmp.Diff(want, pages.Script(blocks, "first-hour")); diff != "" {
		t.Errorf("by a script (-want +got):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("# Page\n")}
	got, err := pages.Read(fstest.MapFS{
		"README.md": file, "go.mod": file, "docs/a.md": file, "docs/guides/b.md": file, "docs/generate/main.go": file, "bench/README.md": file,
	})
	if diff := cmp.Diff(map[string]string{"README.md": "# Page\n", "docs/a.md": "# Page\n", "docs/guides/b.md": "# Page\n"}, got); diff != "" || err != nil {
		t.Errorf("-want +got:\n%s%v", diff, err)
	}
}
