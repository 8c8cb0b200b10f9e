package kqueen_test

import (
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// build returns the source of those files; a file is named by its path from the top.
func build(t *testing.T, files map[string]string) sources {
	t.Helper()
	src := sources{fset: token.NewFileSet()}
	packages := map[string]*goPackage{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir := path.Dir(name)
		if packages[dir] == nil {
			packages[dir] = &goPackage{name: dir}
		}
		if err := packages[dir].add(src.fset, name, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		src.packages = append(src.packages, *packages[dir])
	}
	return src
}

// importing returns a file that imports packages of this module.
func importing(names ...string) string {
	text := "package p\n"
	for _, name := range names {
		text += "import _ " + strconv.Quote(module+"/"+name) + "\n"
	}
	return text
}

func TestCheckImports(t *testing.T) {
	const text = "NONE < api < API; NONE < pki; API, pki < cluster, other < app; api < testkit;"
	excused := map[string]map[string]string{"pki": {"api": "is needed"}}
	whole := map[string]string{
		"api/a.go": importing(), "pki/a.go": importing(), "pki/a_test.go": importing("api"),
		"cluster/a.go": importing("api", "pki"), "other/a.go": importing(),
		"app/a.go": importing("cluster", "other", "api"), "testkit/a.go": importing("api"),
	}
	cases := map[string]struct {
		change map[string]string
		want   []string
	}{
		"Whole":    {},
		"Upwards":  {map[string]string{"pki/a.go": importing("cluster")}, []string{"pki/a.go imports cluster, which importTable does not allow to pki"}},
		"Sideways": {map[string]string{"cluster/b.go": importing("other")}, []string{"cluster/b.go imports other, which importTable does not allow to cluster"}},
		"SidewaysInTest": {
			map[string]string{"cluster/b_test.go": importing("other")},
			[]string{"cluster/b_test.go imports other, which importTable does not allow to cluster"},
		},
		"ExcusedNotInTest": {map[string]string{"pki/b.go": importing("api")}, []string{"pki/b.go imports api, which importTable does not allow to pki"}},
		"NotNeededAnyMore": {
			map[string]string{"pki/a_test.go": importing()},
			[]string{"exception for tests of pki, api (is needed), is not needed any more; remove it"},
		},
		"TestOfItself":      {map[string]string{"cluster/b_test.go": importing("cluster", "api")}, nil},
		"TestkitInTest":     {map[string]string{"cluster/b_test.go": importing("testkit")}, nil},
		"TestkitInProduct":  {map[string]string{"cluster/b.go": importing("testkit")}, []string{"cluster/b.go imports testkit, which only tests may"}},
		"NoPlace":           {map[string]string{"fresh/a.go": importing()}, []string{"fresh has no place in importTable; give it a floor"}},
		"OthersMayBeCalled": {map[string]string{"pki/b.go": "package p\nimport _ \"k8s.io/api\"\n"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(whole)
			maps.Copy(files, c.change)
			got := checkImports(build(t, files), mustParse(t, text), []string{"testkit"}, excused)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("Gone", func(t *testing.T) {
		files := maps.Clone(whole)
		delete(files, "other/a.go")
		files["app/a.go"] = importing("cluster")
		want := []string{"other stands in importTable and is not there; remove it from the table"}
		if diff := cmp.Diff(want, checkImports(build(t, files), mustParse(t, text), []string{"testkit"}, excused)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func mustParse(t *testing.T, text string) table {
	t.Helper()
	parsed, err := parseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestParseTable(t *testing.T) {
	cases := map[string]struct {
		text    string
		want    map[string]string // package to what it may import
		wantErr string
	}{
		"ChainIsTransitive":  {text: "NONE < a < b < c;", want: map[string]string{"c": "NONE a b", "b": "NONE a", "a": "NONE"}},
		"SetsAreNotSideways": {text: "NONE < a, b < c, d;", want: map[string]string{"a": "NONE", "d": "NONE a b"}},
		"Groups":             {text: "NONE < a; NONE < b; a < LOW; b < LOW; LOW < c;", want: map[string]string{"c": "LOW NONE a b"}},
		"Comments":           {text: "# x < y;\nNONE < a; # b\n", want: map[string]string{"a": "NONE"}},
		"Cycle":              {text: "NONE < A; NONE < B; A < B; B < A;", wantErr: "cycle"},
		"TwoPlaces":          {text: "NONE < a, b; a < b;", wantErr: "b stands above something twice"},
		"Typo":               {text: "NONE < a; aa < b;", wantErr: "aa is not known yet"},
		"NoChain":            {text: "a, b;", wantErr: `there is no "<"`},
		"NoComma":            {text: "NONE < a b;", wantErr: "is not a name"},
		"NoName":             {text: "NONE < a, < b;", wantErr: "is not a name"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseTable(c.text)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("got error %v, want %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c.want {
				if have := strings.Join(slices.Sorted(maps.Keys(got[name])), " "); have != want {
					t.Errorf("%s may import %q, want %q", name, have, want)
				}
			}
		})
	}
}

func TestCheckGuards(t *testing.T) {
	g := []guard{{
		packages: []string{"net/wire"}, except: []string{"net/wire/scheme"}, why: "go through kube",
		allowed: map[string]string{"kube": "is there for that"},
	}}
	const uses = "package p\nimport _ \"net/wire/sub\"\n"
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"Allowed":      {map[string]string{"kube/a.go": uses}, nil},
		"InTest":       {map[string]string{"kube/a.go": uses, "pki/a_test.go": uses, "testkit/a.go": uses}, nil},
		"Except":       {map[string]string{"kube/a.go": uses, "pki/a.go": "package p\nimport _ \"net/wire/scheme\"\n"}, nil},
		"NotBelow":     {map[string]string{"kube/a.go": uses, "pki/a.go": "package p\nimport _ \"net/wireless\"\n"}, nil},
		"NotAllowed":   {map[string]string{"kube/a.go": uses, "pki/a.go": uses}, []string{"pki/a.go imports net/wire/sub: go through kube"}},
		"NotNeededAny": {map[string]string{"pki/a.go": "package p\n"}, []string{"exception for net/wire, kube (is there for that), is not needed any more; remove it"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, checkGuards(build(t, c.files), g, []string{"testkit"})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCheckCalls(t *testing.T) {
	banned := []bannedCall{
		{call: "time.Sleep", inTests: true, why: "wait"},
		{call: "panic", inMain: true, why: "return", allowed: map[string]string{"runner": "may"}},
	}
	const excused = "package runner\nfunc f() { panic(1) }\n"
	cases := map[string]struct {
		file, content string
		want          []string
	}{
		"None":          {"pki/a.go", "package pki\nimport \"time\"\nvar _ = time.Now\n", nil},
		"Called":        {"pki/a.go", "package pki\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", []string{"pki/a.go:3:12 uses time.Sleep: wait"}},
		"HandedOn":      {"pki/a.go", "package pki\nimport \"time\"\nvar sleep = time.Sleep\n", []string{"pki/a.go:3:13 uses time.Sleep: wait"}},
		"OtherName":     {"pki/a.go", "package pki\nimport clock \"time\"\nvar sleep = clock.Sleep\n", []string{"pki/a.go:3:13 uses time.Sleep: wait"}},
		"OtherPackage":  {"pki/a.go", "package pki\nimport \"my/time\"\nvar sleep = time.Sleep\n", nil},
		"AField":        {"pki/a.go", "package pki\nfunc f(time x) { time.Sleep() }\n", nil},
		"InTest":        {"pki/a_test.go", "package pki\nimport \"time\"\nvar sleep = time.Sleep\n", []string{"pki/a_test.go:3:13 uses time.Sleep: wait"}},
		"BuiltIn":       {"pki/a.go", "package pki\nfunc f() { panic(1) }\n", []string{"pki/a.go:2:12 uses panic: return"}},
		"AllowedInTest": {"pki/a_test.go", "package pki\nfunc f() { panic(1) }\n", nil},
		"InTestPackage": {"testkit/a.go", "package testkit\nfunc f() { panic(1) }\n", nil},
		"InMain":        {"cmd/a.go", "package main\nfunc f() { panic(1) }\n", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			src := build(t, map[string]string{"runner/a.go": excused, c.file: c.content})
			if diff := cmp.Diff(c.want, checkCalls(src, banned, []string{"testkit"})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("NotNeededAnyMore", func(t *testing.T) {
		want := []string{"exception for panic, runner (may), is not needed any more; remove it"}
		if diff := cmp.Diff(want, checkCalls(build(t, nil), banned, nil)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("NoReason", func(t *testing.T) {
		banned := []bannedCall{{call: "panic", allowed: map[string]string{"runner": " "}}}
		src := build(t, map[string]string{"runner/a.go": excused})
		if diff := cmp.Diff([]string{"exception for panic, runner, has no reason"}, checkCalls(src, banned, nil)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestCheckForm(t *testing.T) {
	const head = "// Package pki does this\n// and that.\npackage pki\n\n"
	lines := func(n int) string { return strings.Repeat("\n", n) }
	function := func(name string, n int) string { return head + "func " + name + "() {" + lines(n-1) + "}\n" }
	face := func(methods string) string {
		return head + "type i interface{" + methods + "}\ntype j interface{ k(); l() }\n"
	}
	cases := map[string]struct {
		file, content string
		want          []string
	}{
		"Whole":            {"pki/pki.go", head + "const a = 1\n", nil},
		"NoComment":        {"pki/pki.go", "package pki\nconst a = 1\n", []string{"the package comment has 0 lines"}},
		"ShortComment":     {"pki/pki.go", "// Package pki does this.\npackage pki\nconst a = 1\n", []string{"the package comment has 1 lines"}},
		"TestsNeedNone":    {"pki/a_test.go", "package pki\nconst a = 1\n", nil},
		"Empty":            {"pki/pki.go", head + "import _ \"fmt\"\n", []string{"declares nothing"}},
		"BannedFolder":     {"utils/pki.go", head + "const a = 1\n", []string{"folder name utils says nothing"}},
		"BannedPackage":    {"pki/pki.go", "// Package helpers\n// helps.\npackage helpers\nconst a = 1\n", []string{"package name helpers says nothing"}},
		"BannedFile":       {"pki/types.go", head + "const a = 1\n", []string{"the file's name says nothing"}},
		"LongFile":         {"pki/pki.go", head + "const a = 1" + lines(497), []string{"501 lines, more than 500"}},
		"LongestFile":      {"pki/pki.go", head + "const a = 1" + lines(496), nil},
		"LongGenerated":    {"pki/zz.go", "// Code generated by x. DO NOT EDIT.\n\n" + head + "const a = 1" + lines(600), nil},
		"LongFunction":     {"pki/pki.go", function("f", 81), []string{"f has 81 lines, more than 80"}},
		"LongestFunction":  {"pki/pki.go", function("f", 80), nil},
		"LongReconcile":    {"pki/pki.go", function("Reconcile", 61), []string{"Reconcile has 61 lines, more than 60"}},
		"LongestReconcile": {"pki/pki.go", function("Reconcile", 60), nil},
		"Init":             {"pki/pki.go", function("init", 3), []string{"func init runs unasked"}},
		"MethodInit":       {"pki/pki.go", head + "type a int\nfunc (a) init() {}\n", nil},
		"WideInterface":    {"pki/pki.go", face("a(); b(); c(); d(); e(); f()"), []string{"interface of 6 methods, more than 5"}},
		"WidestInterface":  {"pki/pki.go", face("a(); b(); c(); d(); e()"), nil},
		"EmbeddedIsWide":   {"pki/pki.go", face("a(); b(); c(); d(); j"), []string{"interface of 6 methods, more than 5"}},
		"EmbedsItself":     {"pki/pki.go", head + "type i interface{ i; a() }\n", nil},
		"ErrorText":        {"pki/pki.go", head + "var a = strings.Contains(err.Error(), \"x\")\n", []string{"decides by the text of an error"}},
		"ErrorPattern":     {"pki/pki.go", head + "var a = re.MatchString(err.Error())\n", []string{"decides by the text of an error"}},
		"ErrorShown":       {"pki/pki.go", head + "var a = fmt.Sprint(err.Error())\n", nil},
		"ErrorTextInTest":  {"pki/a_test.go", head + "var a = strings.Contains(err.Error(), \"x\")\n", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := checkForm(build(t, map[string]string{c.file: c.content}))
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}
