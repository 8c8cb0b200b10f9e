package kqueen_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// house is the source of all packages of this module.
type house struct {
	fset  *token.FileSet
	rooms []room
}

// room is one package.
type room struct {
	// name is the import path without the module and "internal/".
	name  string
	files []source
}

// source is one Go file. Files for other systems than this one are read too.
type source struct {
	// path of the file, from the top of the module.
	path   string
	test   bool
	syntax *ast.File
}

// guard keeps packages within rooms.
type guard struct {
	packages []string // with all below them
	except   []string // packages below those that every package may import
	why      string
	rooms    map[string]string // room to the reason
}

// bannedCall is a function that is not called.
type bannedCall struct {
	call    string // "package.Function", or the name of a built-in
	inTests bool   // banned in tests too
	inMain  bool   // allowed in package main
	why     string
	rooms   map[string]string // room to the reason
}

// readHouse reads the house once for all tests.
func readHouse(t *testing.T) house {
	t.Helper()
	h, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var readOnce = sync.OnceValues(func() (house, error) {
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		return house{}, fmt.Errorf("list packages: %w", err)
	}
	h := house{fset: token.NewFileSet()}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir                                              string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return house{}, fmt.Errorf("decode the list of packages: %w", err)
		}
		r := room{name: roomOf(p.ImportPath)}
		for _, file := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			content, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return house{}, err
			}
			if err := r.add(h.fset, path.Join(strings.TrimPrefix(p.ImportPath, module), file)[1:], string(content)); err != nil {
				return house{}, err
			}
		}
		h.rooms = append(h.rooms, r)
	}
})

func (r *room) add(fset *token.FileSet, name, content string) error {
	syntax, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.files = append(r.files, source{path: name, test: strings.HasSuffix(name, "_test.go"), syntax: syntax})
	return nil
}

// roomOf returns the name of the package with that import path, without the module and "internal/"; empty for
// packages of other modules and for the top.
func roomOf(importPath string) string {
	name, own := strings.CutPrefix(importPath, module+"/")
	if !own {
		return ""
	}
	return strings.TrimPrefix(name, "internal/")
}

func (s source) imports() []string {
	var out []string
	for _, spec := range s.syntax.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, imported)
		}
	}
	return out
}

// checkImports returns where the house does not keep to the table. testImports is what the tests of a room may
// import beside, with the reason.
func checkImports(h house, t table, testRooms []string, testImports map[string]map[string]string) []string {
	var out []string
	present, used := map[string]bool{}, map[string]map[string]bool{}
	for _, r := range h.rooms {
		present[r.name] = true
		allowed, known := t[r.name]
		if !known && r.name != "" {
			out = append(out, fmt.Sprintf("%s has no place in importTable; give it a floor", r.name))
			continue
		}
		for _, file := range r.files {
			for _, imported := range file.imports() {
				other := roomOf(imported)
				isTest := slices.Contains(testRooms, other)
				forTests := file.test || slices.Contains(testRooms, r.name)
				switch {
				case other == "", !isTest && allowed[other], forTests && (isTest || other == r.name):
				case file.test && testImports[r.name][other] != "":
					used[r.name] = setOf(used[r.name], []string{other})
				case isTest:
					out = append(out, fmt.Sprintf("%s imports %s, which only tests may", file.path, other))
				default:
					out = append(out, fmt.Sprintf("%s imports %s, which importTable does not allow to %s", file.path, other, r.name))
				}
			}
		}
	}
	for name := range t {
		if !isGroup(name) && !present[name] {
			out = append(out, fmt.Sprintf("%s stands in importTable and is not there; remove it from the table", name))
		}
	}
	for name, exceptions := range testImports {
		out = append(out, unused("tests of "+name, exceptions, used[name])...)
	}
	slices.Sort(out)
	return out
}

// checkGuards returns the imports of guarded packages by rooms that may not, and exceptions that are not needed.
func checkGuards(h house, guards []guard, testRooms []string) []string {
	var out []string
	for _, g := range guards {
		used := map[string]bool{}
		for _, r := range h.rooms {
			for _, file := range r.files {
				if file.test || slices.Contains(testRooms, r.name) {
					continue
				}
				for _, imported := range file.imports() {
					if !g.holds(imported) {
						continue
					}
					allowed := exception(g.rooms, r.name)
					used[allowed] = true
					if g.rooms[allowed] == "" {
						out = append(out, fmt.Sprintf("%s imports %s: %s", file.path, imported, g.why))
					}
				}
			}
		}
		out = append(out, unused(g.packages[0], g.rooms, used)...)
	}
	return out
}

// exception returns the key of the exceptions that a package falls under: its name, or "NAME/..." for a package and all
// that is below it.
func exception(rooms map[string]string, name string) string {
	for key := range rooms {
		if top, ok := strings.CutSuffix(key, "/..."); ok && (name == top || strings.HasPrefix(name, top+"/")) {
			return key
		}
	}
	return name
}

func (g guard) holds(imported string) bool {
	under := func(p string) bool { return imported == p || strings.HasPrefix(imported, p+"/") }
	return slices.ContainsFunc(g.packages, under) && !slices.ContainsFunc(g.except, under)
}

// checkCalls returns the banned calls, and exceptions that are not needed.
func checkCalls(h house, banned []bannedCall, testRooms []string) []string {
	var out []string
	used := map[string]map[string]bool{}
	for _, r := range h.rooms {
		for _, file := range r.files {
			forTests := file.test || slices.Contains(testRooms, r.name)
			for node := range ast.Preorder(file.syntax) {
				name := calledName(file.syntax, node)
				i := slices.IndexFunc(banned, func(b bannedCall) bool { return b.call == name })
				if i < 0 {
					continue
				}
				b := banned[i]
				if forTests && !b.inTests || b.inMain && file.syntax.Name.Name == "main" {
					continue
				}
				used[name] = setOf(used[name], []string{r.name})
				if b.rooms[r.name] == "" {
					out = append(out, fmt.Sprintf("%s uses %s: %s", h.fset.Position(node.Pos()), name, b.why))
				}
			}
		}
	}
	for _, b := range banned {
		out = append(out, unused(b.call, b.rooms, used[b.call])...)
	}
	return out
}

// calledName returns "package.Name" where node is a mention of another package's function, called or handed
// on, and the name where it is a call of a built-in.
func calledName(file *ast.File, node ast.Node) string {
	switch n := node.(type) {
	case *ast.SelectorExpr:
		qualifier, ok := n.X.(*ast.Ident)
		if !ok {
			return ""
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			local := path.Base(imported)
			if spec.Name != nil {
				local = spec.Name.Name
			}
			if err == nil && local == qualifier.Name {
				return imported + "." + n.Sel.Name
			}
		}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok {
			return name.Name
		}
	}
	return ""
}

// unused returns the exceptions for what that are not used, or have no reason.
func unused(what string, rooms map[string]string, used map[string]bool) []string {
	var out []string
	for r, reason := range rooms {
		if !used[r] {
			out = append(out, fmt.Sprintf("exception for %s, %s (%s), is not needed any more; remove it", what, r, reason))
		}
		if strings.TrimSpace(reason) == "" {
			out = append(out, fmt.Sprintf("exception for %s, %s, has no reason", what, r))
		}
	}
	slices.Sort(out)
	return out
}
