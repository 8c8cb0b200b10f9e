package kqueen_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bannedWords are not used in comments and docs. Such a sentence hides who acts: name the API server, the kubelet, the
// user, the operator, the caller.
var bannedWords = regexp.MustCompile(`(?i)\b(whoever|somebody|nobody|everybody|someone|anybody|people|planelog)\b`)

// wordy are the packages and documents in which bannedWords stand until they have been gone through, and why they may.
var wordy = map[string]string{
	"api/rest":       "not gone through yet",
	"app":            "not gone through yet",
	"docs/access.md": "names a decision whose title has the word",
	"test/e2e":       "not gone through yet",
	"workers/join":   "not gone through yet",
}

// maxMethodsOfType is how many methods a type has at most, over all files of its package but tests.
const maxMethodsOfType = 30

// wideTypes have more, and why.
var wideTypes = map[string]string{
	"app.App":       "is being split",
	"client.Client": "has one method for each operation of the API, found by its name",
}

func TestWords(t *testing.T) {
	documents, err := readDocuments(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	report(t, checkWords(readHouse(t), documents, wordy))
}

func TestMethods(t *testing.T) { report(t, checkMethods(readHouse(t), wideTypes)) }

// readDocuments returns what is written for readers of the repository, by path. Decisions stay as they were taken, and
// the pages about kinds are made from comments.
func readDocuments(top fs.FS) (map[string]string, error) {
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "bench/*.md"} {
		names, err := fs.Glob(top, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			content, err := fs.ReadFile(top, name)
			if err != nil {
				return nil, err
			}
			out[filepath.ToSlash(name)] = string(content)
		}
	}
	return out, nil
}

// checkWords returns where a word stands that does not say who acts.
func checkWords(h house, documents, excused map[string]string) []string {
	var out []string
	used := map[string]bool{}
	look := func(place, at, text string) {
		word := bannedWords.FindString(text)
		if word == "" {
			return
		}
		used[place] = true
		if excused[place] == "" {
			out = append(out, fmt.Sprintf("%s says %q: name who acts", at, strings.ToLower(word)))
		}
	}
	for _, r := range h.rooms {
		for _, file := range r.files {
			for _, group := range file.syntax.Comments {
				for _, comment := range group.List {
					look(r.name, h.fset.Position(comment.Pos()).String(), comment.Text)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		for i, line := range strings.Split(documents[name], "\n") {
			look(name, fmt.Sprintf("%s:%d", name, i+1), line)
		}
	}
	return append(out, unused("words", excused, used)...)
}

// checkMethods returns the types with more methods than a reader keeps in mind.
func checkMethods(h house, excused map[string]string) []string {
	var out []string
	used := map[string]bool{}
	for _, r := range h.rooms {
		count := map[string]int{}
		for _, file := range r.files {
			for _, decl := range file.syntax.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && !file.test && !ast.IsGenerated(file.syntax) {
					count[receiver(f)]++
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(count)) {
			if count[name] <= maxMethodsOfType {
				continue
			}
			of := r.name + "." + name
			used[of] = true
			if excused[of] == "" {
				out = append(out, fmt.Sprintf("%s has %d methods, more than %d; split it by subject", of, count[name], maxMethodsOfType))
			}
		}
	}
	return append(out, unused("methods", excused, used)...)
}

// receiver returns the name of the type that has a method.
func receiver(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func TestCheckWords(t *testing.T) {
	excused := map[string]string{"old": "not gone through yet"}
	const bad, good = "// Whoever calls.\npackage p\n", "// The user calls.\npackage p\nvar a = `somebody`\n"
	cases := map[string]struct {
		file, content, document string
		want                    []string
	}{
		"Good":     {file: "p/a.go", content: good, document: "The user.\n"},
		"Comment":  {file: "p/a.go", content: bad, want: []string{`p/a.go:1:1 says "whoever": name who acts`}},
		"Within":   {file: "p/a.go", content: good + "func f() { // for people\n}\n", want: []string{`p/a.go:4:12 says "people": name who acts`}},
		"InTest":   {file: "p/a_test.go", content: bad, want: []string{`p/a_test.go:1:1 says "whoever": name who acts`}},
		"Document": {file: "p/a.go", content: good, document: "One.\nNobody.\n", want: []string{`docs/a.md:2 says "nobody": name who acts`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := build(t, map[string]string{"old/a.go": bad, c.file: c.content})
			if diff := cmp.Diff(c.want, checkWords(h, map[string]string{"docs/a.md": c.document}, excused)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("NotNeededAnyMore", func(t *testing.T) {
		want := []string{"exception for words, old (not gone through yet), is not needed any more; remove it"}
		if diff := cmp.Diff(want, checkWords(build(t, map[string]string{"old/a.go": good}), nil, excused)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestCheckMethods(t *testing.T) {
	methods := func(of string, n int) string {
		text := "package p\n"
		for i := range n {
			text += fmt.Sprintf("func (%s) m%d() {}\n", of, i)
		}
		return text
	}
	excused := map[string]string{"p.Old": "is being split"}
	old := methods("*Old", 31)
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"Widest":    {map[string]string{"p/a.go": methods("*T", 30)}, nil},
		"Wide":      {map[string]string{"p/a.go": methods("*T", 31)}, []string{"p.T has 31 methods, more than 30; split it by subject"}},
		"TwoFiles":  {map[string]string{"p/a.go": methods("*T", 16), "p/b.go": methods("T", 15)}, []string{"p.T has 31 methods, more than 30; split it by subject"}},
		"Generic":   {map[string]string{"p/a.go": methods("*T[K, V]", 31)}, []string{"p.T has 31 methods, more than 30; split it by subject"}},
		"InTest":    {map[string]string{"p/a_test.go": methods("*T", 31)}, nil},
		"NotNeeded": {map[string]string{"p/old.go": methods("*Old", 3)}, []string{"exception for methods, p.Old (is being split), is not needed any more; remove it"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"p/old.go": old}
			maps.Copy(files, c.files)
			if diff := cmp.Diff(c.want, checkMethods(build(t, files), excused)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
