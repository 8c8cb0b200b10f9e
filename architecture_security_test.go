package kqueen_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage: each row of a table of docs/security.md that says "shown by" names tests that there are.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsByName(t)
	named, shown := regexp.MustCompile("`([a-z0-9]+)\\.(Test\\w+)(?:/([^`]+))?`"), false
	for n, line := range strings.Split(string(page), "\n") {
		switch {
		case !strings.HasPrefix(line, "|"):
			shown = false
			continue
		case strings.HasSuffix(line, "| shown by |"):
			shown = true
			continue
		case !shown || strings.HasPrefix(line, "|---"):
			continue
		}
		all := named.FindAllStringSubmatch(line, -1)
		if len(all) == 0 {
			t.Errorf("docs/security.md:%d names no test: %s", n+1, line)
		}
		for _, m := range all {
			text, ok := tests[m[1]+"."+m[2]]
			if !ok {
				t.Errorf("docs/security.md:%d: there is no test %s.%s", n+1, m[1], m[2])
			}
			if m[3] != "" && !strings.Contains(text, `t.Run("`+m[3]+`"`) {
				t.Errorf("docs/security.md:%d: %s.%s has no subtest %q", n+1, m[1], m[2], m[3])
			}
		}
	}
}

// testsByName are the files of tests, by "package.TestName".
func testsByName(t *testing.T) map[string]string {
	t.Helper()
	tests, begins := map[string]string{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range begins.FindAllStringSubmatch(string(data), -1) {
			tests[filepath.Base(filepath.Dir(path))+"."+m[1]] += string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
