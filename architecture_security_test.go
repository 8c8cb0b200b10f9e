package kqueen_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage: whatever docs/operations/security.md claims below its introduction names the tests that show it, which there are, or says
// that it is not tested.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("docs/operations/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsByName(t)
	for _, c := range claimsOf(string(page)) {
		for _, problem := range c.problems(tests) {
			t.Errorf("docs/operations/security.md:%d: %s", c.line, problem)
		}
	}
}

// TestClaims: the test above sees every claim of a page, and what is wrong with it.
func TestClaims(t *testing.T) {
	const page = "# Page\n\nThe introduction claims nothing.\n\n## A\n\n| | shown by |\n|---|---|\n" +
		"| one | `a.TestOne` |\n| two | |\n| three | `a.TestOne/Sub`, `a.TestOne/Other` |\n\n" +
		"A paragraph\nof two lines (`b.TestNone`).\n\n- An item\n  goes on. (Not tested: there is no way.)\n- Another.\n"
	tests := map[string]string{"a.TestOne": `t.Run("Sub", nil)`}
	var got []string
	for _, c := range claimsOf(page) {
		for _, problem := range c.problems(tests) {
			got = append(got, fmt.Sprint(c.line, ": ", problem))
		}
	}
	want := "10: names no test: | two | |\n11: a.TestOne has no subtest \"Other\"\n13: there is no test b.TestNone\n18: names no test: - Another."
	if joined := strings.Join(got, "\n"); joined != want {
		t.Errorf("got\n%s\nwant\n%s", joined, want)
	}
}

// claim is a row of a table, a paragraph or an item of a list.
type claim struct {
	line int
	text string
}

// claimsOf are those of a page below its introduction. It is pure.
func claimsOf(page string) []claim {
	var claims []claim
	open, below := false, false
	lines := strings.Split(page, "\n")
	for n, line := range lines {
		row := strings.HasPrefix(line, "|")
		head := row && n+1 < len(lines) && strings.HasPrefix(lines[n+1], "|---")
		switch {
		case strings.HasPrefix(line, "#"):
			open, below = false, below || strings.HasPrefix(line, "## ")
		case !below, line == "", head, strings.HasPrefix(line, "|---"):
			open = false
		case open && !row && !strings.HasPrefix(line, "- "):
			claims[len(claims)-1].text += "\n" + line
		default:
			claims, open = append(claims, claim{n + 1, line}), !row
		}
	}
	return claims
}

var (
	namedTest = regexp.MustCompile("`([a-z0-9]+)\\.(Test\\w+)(?:/([^`]+))?`")
	// untested is what a claim says that has no test, before the reason.
	untested = regexp.MustCompile(`[Nn]ot tested:\s+\S`)
)

// problems are what is wrong with a claim, given the files of tests.
func (c claim) problems(tests map[string]string) []string {
	var problems []string
	all := namedTest.FindAllStringSubmatch(c.text, -1)
	if len(all) == 0 && !untested.MatchString(c.text) {
		problems = append(problems, "names no test: "+c.text)
	}
	for _, m := range all {
		text, ok := tests[m[1]+"."+m[2]]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("there is no test %s.%s", m[1], m[2]))
		case m[3] != "" && !strings.Contains(text, `t.Run("`+m[3]+`"`):
			problems = append(problems, fmt.Sprintf("%s.%s has no subtest %q", m[1], m[2], m[3]))
		}
	}
	return problems
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
