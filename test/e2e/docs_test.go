//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/docs"
	"kqueen.io/kqueen/test/pages"
)

// doesWhatIsDocumented runs the commands of each page of the documentation, in the order in which users read the pages, up to the
// first that fails: pages go on from those before. Which blocks are left out, and why, is in the pages; TestPages counts them. The
// installation has no user yet, and no cluster of a name that is in the pages.
func doesWhatIsDocumented(t *testing.T, i *installation) {
	t.Helper()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pages.Read(os.DirFS(repository))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"bash", "curl", "jq", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; the documentation calls it: run hack/packages", err)
		}
	}
	for _, page := range docs.Order(all, "docs/README.md") {
		blocks, err := pages.Blocks(page, all[page])
		if err != nil {
			t.Fatal(err)
		}
		delete(all, page)
		if pages.Script(blocks, "") == "" {
			continue
		}
		if ok := t.Run(page, func(t *testing.T) { i.does(t, page, blocks) }); !ok {
			t.Fatal("the pages after it go on from it")
		}
	}
	for page, text := range all {
		blocks, err := pages.Blocks(page, text)
		if err != nil || pages.Script(blocks, "") != "" {
			t.Errorf("%s has commands that are run, and is in no index (%v)", page, err)
		}
	}
}

// does runs the commands of a page, in a folder with the files that they read.
func (i *installation) does(t *testing.T, page string, blocks []pages.Block) {
	t.Helper()
	dir := filepath.Join(i.base, "pages", strings.ReplaceAll(page, "/", "_"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if b.File == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, b.File), []byte(b.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := i.command("bash", "-c", pages.Script(blocks, ""))
	cmd.Dir = dir
	upstream := filepath.Join(i.releases, programs.version)
	cmd.Env = append(cmd.Env, "KQUEEN_DATA_DIR="+i.dir, "PATH="+filepath.Dir(i.program)+":"+upstream+":"+os.Getenv("PATH"))
	if r := i.run(cmd); r.code != 0 {
		t.Errorf("exit code %d:\n%s\nand on standard output:\n%s", r.code, lastLines(r.stderr), lastLines(r.stdout))
	}
}

// lastLines are as many of a text as say what failed.
func lastLines(text string) string {
	const most = 20
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
