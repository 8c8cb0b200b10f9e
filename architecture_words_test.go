package kqueen_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// bannedWord is not used in comments, docs and messages, nor in names of files and declarations.
type bannedWord struct {
	word    phrases
	instead string
}

// phrases are looked for where one of their stems stands: the expression alone would take seconds for all texts.
type phrases struct {
	*regexp.Regexp

	stems []string
}

// bannedWords hide who acts, or are words of our own where the field has one. In capitals, Verb is a type of Kubernetes.
var bannedWords = []bannedWord{
	{words("whoever", "somebody", "nobody", "everybody", "someone", "anybody", "people"), "name who acts: the caller, the user, the operator"},
	{words("doors?"), "say API, API server or server"},
	{words("action logs?", "planelog"), "say audit log"},
	{words("nouns?"), "say API types or kinds"},
	{words("(?-i:verbs?)"), "say reconciler or controller, or which verb: an RBAC verb, an API verb"},
	{words("rooms?", "house"), "say package or architecture"},
	{words("plug"), "say driver interface"},
	{words("brought"), "say joined or self-managed; copied or passed"},
	{words("good until", "is over"), "say expires at, expired or has ended"},
	{words("bites?"), "say takes effect"},
	{words("next try", "next tries"), "say next retry"},
	{words("ways? into clusters?"), "say egress"},
	{words("nothing of that name", "is not for you"), "say not found, or access denied"},
	{words("stands? before (the )?names?"), "say prefixes names"},
	{words("say yes only"), "say approve only if you started this"},
}

// bannedInMessages are, beside those, not in what users read: strings that are sentences, help, pages, and docs for users.
var bannedInMessages = []bannedWord{
	{words("makes? (an?|another|one|them|no|nothing|machines|nodes|clusters)", "making (an?|another|one|them|no|nothing|machines|nodes|clusters)"), "say create, issue or start"},
	{words("what makes"), "name it: the provisioner, the driver, the plugin"},
	{words("(is|are|be|stays?|not) good", "good any more"), "say valid, or until it expires"},
	{words("shall"), "say the desired number, or use the future"},
	{words("anew"), "say again, or recreate"},
	{words("for ever"), "say without limit"},
	{words("bring your own"), "say self-managed, or of your own"},
	{words("(all|everything) about an?"), "say show details of"},
	{words("say (yes|with|--)"), "say use, give or approve"},
	{words("is no (format|version|number|file)"), "say is not a"},
	{words("likes? nodes"), "say identical nodes"},
	{words("of last time"), "say as before"},
	{words("not for you"), "say not found, or access denied"},
	{words("no way back"), "say this cannot be undone"},
	{words("goes? in and do(es)? not come out"), "say write-only, or cannot be read again"},
	{words("a terminal is asked"), "say you are asked"},
	{words("a (organization|identityprovider|event)"), "say an"},
	{words("1 (clusters|nodes|machines|programs)"), "say the singular"},
}

// allowedPhrases have a banned word in a sense in which it is not one of ours.
var allowedPhrases = regexp.MustCompile(`(?i)\b((RBAC|HTTP|API|Kubernetes|printf) verbs?|package verbs|verbs: \[\w+|(is|has|no|more|makes?|making) room|room (for|to))\b`)

// inCode is a name or command within a line of a document. Names of the past and of others are no words of ours.
var inCode = regexp.MustCompile("`[^`]*`")

// wordy are the packages and documents that still have such words, and why they may. "NAME/..." is a package and all
// that is below it.
var wordy = map[string]string{}

func words(patterns ...string) phrases {
	p := phrases{Regexp: regexp.MustCompile(`(?i)\b(` + strings.Join(patterns, "|") + `)\b`)}
	for _, pattern := range patterns {
		stem, _, optional := strings.Cut(strings.TrimPrefix(pattern, "(?-i:"), "?")
		if optional {
			stem = stem[:len(stem)-1]
		}
		if stem != regexp.QuoteMeta(stem) {
			stem = "" // stands in every text
		}
		p.stems = append(p.stems, stem)
	}
	return p
}

// mayBeIn says whether a text in small letters can have one of them.
func (p phrases) mayBeIn(lower string) bool {
	return slices.ContainsFunc(p.stems, func(stem string) bool { return strings.Contains(lower, stem) })
}

// maxMethodsOfType is how many methods a type has at most, over all files of its package but tests.
const maxMethodsOfType = 30

// wideTypes have more, and why.
var wideTypes = map[string]string{
	"client.Client": "has one method for each operation of the API, found by its name",
}

func TestWords(t *testing.T) {
	documents, err := readDocuments(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	report(t, checkWords(readSource(t), documents, wordy))
}

func TestMethods(t *testing.T) { report(t, checkMethods(readSource(t), wideTypes)) }

// readDocuments returns what is written for readers beside Go, by path. Of the changes only those that are not released
// yet are in it: what was released stays as it was.
func readDocuments(top fs.FS) (map[string]string, error) {
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "bench/*.md", "internal/server/*/*.html", "internal/server/*/*/*.html"} {
		names, err := fs.Glob(top, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			content, err := fs.ReadFile(top, name)
			if err != nil {
				return nil, err
			}
			out[name] = string(content)
			if name == "CHANGELOG.md" {
				out[name] = unreleased(out[name])
			}
		}
	}
	return out, nil
}

// unreleased returns the changes up to the end of their first section.
func unreleased(changes string) string {
	parts := strings.SplitAfterN(changes, "\n## ", 3)
	return strings.Join(parts[:min(2, len(parts))], "")
}

// checkWords returns where a banned word stands.
func checkWords(src sources, documents, excused map[string]string) []string {
	var out []string
	used := map[string]bool{}
	look := func(place, at, text string, lists ...[]bannedWord) {
		lower := strings.ToLower(text)
		for _, banned := range slices.Concat(append(lists, bannedWords)...) {
			if !banned.word.mayBeIn(lower) {
				continue
			}
			word := banned.word.FindString(allowedPhrases.ReplaceAllString(text, ""))
			if word == "" {
				continue
			}
			key := exception(excused, place)
			used[key] = true
			if excused[key] == "" {
				out = append(out, fmt.Sprintf("%s says %q: %s", at, strings.ToLower(word), banned.instead))
			}
		}
	}
	for _, pkg := range src.packages {
		for _, file := range pkg.files {
			look(pkg.name, file.path, spaced(strings.TrimSuffix(path.Base(file.path), ".go")))
			for _, t := range file.texts() {
				look(pkg.name, src.fset.Position(t.at).String(), t.text, t.lists()...)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		look(name, name, spaced(path.Base(name)))
		for i, line := range strings.Split(documents[name], "\n") {
			var lists [][]bannedWord
			if isForUsers(name) {
				lists = append(lists, bannedInMessages)
			}
			look(name, fmt.Sprintf("%s:%d", name, i+1), inCode.ReplaceAllString(line, ""), lists...)
		}
	}
	return append(out, unused("words", excused, used)...)
}

// isForUsers says whether a document is read by users, not only by those who develop KQueen.
func isForUsers(document string) bool {
	return document != "CHANGELOG.md" && document != "CONTRIBUTING.md" && !strings.HasPrefix(document, "docs/development/") && !strings.HasPrefix(document, "bench/")
}

// text is something in a file that readers or users read.
type text struct {
	at      token.Pos
	text    string
	message bool // users may read it
}

// lists returns what else it must not say.
func (t text) lists() [][]bannedWord {
	if t.message {
		return [][]bannedWord{bannedInMessages}
	}
	return nil
}

// texts returns the comments, the names of the declarations and, but for tests, the strings that are sentences.
func (s source) texts() []text {
	var out []text
	for _, group := range s.syntax.Comments {
		for _, comment := range group.List {
			out = append(out, text{at: comment.Pos(), text: comment.Text})
		}
	}
	declared := func(name *ast.Ident) { out = append(out, text{at: name.Pos(), text: spaced(name.Name)}) }
	for _, decl := range s.syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			declared(d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					declared(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						declared(name)
					}
				}
			}
		}
	}
	for node := range ast.Preorder(s.syntax) {
		if l, ok := node.(*ast.BasicLit); ok && !s.test && l.Kind == token.STRING && strings.Contains(l.Value, " ") {
			out = append(out, text{at: l.Pos(), text: strings.ReplaceAll(l.Value, "\n", " "), message: true})
		}
	}
	return out
}

// spaced returns the words of a name: "serve Nodes twice" for "serveNodes_twice".
func spaced(name string) string {
	var b strings.Builder
	last := ' '
	for _, c := range name {
		if unicode.IsUpper(c) && !unicode.IsUpper(last) {
			b.WriteByte(' ')
		}
		if c == '_' || c == '-' || c == '.' {
			c = ' '
		}
		b.WriteRune(c)
		last = c
	}
	return b.String()
}

// checkMethods returns the types with more methods than a reader keeps in mind.
func checkMethods(src sources, excused map[string]string) []string {
	var out []string
	used := map[string]bool{}
	for _, pkg := range src.packages {
		count := map[string]int{}
		for _, file := range pkg.files {
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
			of := pkg.name + "." + name
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
	excused := map[string]string{"old/...": "not gone through yet"}
	const bad, good = "// Whoever calls.\npackage p\n", "// The user calls, for whom there is room for RBAC verbs.\npackage p\nvar a = `somebody`\n"
	const hides = "name who acts: the caller, the user, the operator"
	cases := map[string]struct {
		file, content, document string
		want                    []string
	}{
		"Good":       {file: "p/a.go", content: good, document: "The user, as in `nobody`.\n"},
		"Comment":    {file: "p/a.go", content: bad, want: []string{`p/a.go:1:1 says "whoever": ` + hides}},
		"Within":     {file: "p/a.go", content: good + "func f() { // for people\n}\n", want: []string{`p/a.go:4:12 says "people": ` + hides}},
		"InTest":     {file: "p/a_test.go", content: bad, want: []string{`p/a_test.go:1:1 says "whoever": ` + hides}},
		"Document":   {file: "p/a.go", content: good, document: "One.\nNobody.\n", want: []string{`docs/a.md:2 says "nobody": ` + hides}},
		"Verb":       {file: "p/a.go", content: "// Package p is a verb.\npackage p\n", want: []string{`p/a.go:1:1 says "verb": say reconciler or controller, or which verb: an RBAC verb, an API verb`}},
		"Room":       {file: "p/a.go", content: "// Package p is a room.\npackage p\n", want: []string{`p/a.go:1:1 says "room": say package or architecture`}},
		"Message":    {file: "p/a.go", content: "package p\nvar a = \"open the door\"\n", want: []string{`p/a.go:2:9 says "door": say API, API server or server`}},
		"InMessage":  {file: "p/a.go", content: "// p makes a node.\npackage p\nvar a = `a node\nis good`\n", want: []string{`p/a.go:3:9 says "is good": say valid, or until it expires`}},
		"InGuide":    {file: "p/a.go", content: good, document: "Make a cluster, as `make a` does.\n", want: []string{`docs/a.md:1 says "make a": say create, issue or start`}},
		"TestString": {file: "p/a_test.go", content: "package p\nvar a = \"open the door\"\n"},
		"Name":       {file: "p/a.go", content: "package p\nfunc (x) openDoor() {}\n", want: []string{`p/a.go:2:10 says "door": say API, API server or server`}},
		"VerbInName": {file: "p/a.go", content: "package p\ntype ListVerb string\n"},
		"File":       {file: "p/door_keys.go", content: "package p\n", want: []string{`p/door_keys.go says "door": say API, API server or server`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			src := build(t, map[string]string{"old/sub/a.go": bad, c.file: c.content})
			if diff := cmp.Diff(c.want, checkWords(src, map[string]string{"docs/a.md": c.document}, excused)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("NotNeededAnyMore", func(t *testing.T) {
		want := []string{"exception for words, old/... (not gone through yet), is not needed any more; remove it"}
		if diff := cmp.Diff(want, checkWords(build(t, map[string]string{"old/a.go": good}), nil, excused)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("Unreleased", func(t *testing.T) {
		if diff := cmp.Diff("# Changes\n\n## Unreleased\n\nNew.\n\n## ", unreleased("# Changes\n\n## Unreleased\n\nNew.\n\n## 0.1\n\nOld.\n")); diff != "" {
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
