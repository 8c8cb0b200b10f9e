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

// sources are all packages of this module, parsed.
type sources struct {
	fset     *token.FileSet
	packages []goPackage
}

// goPackage is one package.
type goPackage struct {
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

// guard keeps imports of packages within those that are there for them.
type guard struct {
	packages []string // with all below them
	except   []string // packages below those that every package may import
	why      string
	allowed  map[string]string // package to the reason
}

// bannedCall is a function that is not called.
type bannedCall struct {
	call    string // "package.Function", or the name of a built-in
	inTests bool   // banned in tests too
	inMain  bool   // allowed in package main
	why     string
	allowed map[string]string // package to the reason
}

// readSource parses the module once for all tests.
func readSource(t *testing.T) sources {
	t.Helper()
	src, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

var readOnce = sync.OnceValues(func() (sources, error) {
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		return sources{}, fmt.Errorf("list packages: %w", err)
	}
	src := sources{fset: token.NewFileSet()}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir                                              string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return src, nil
		} else if err != nil {
			return sources{}, fmt.Errorf("decode the list of packages: %w", err)
		}
		pkg := goPackage{name: packageName(p.ImportPath)}
		for _, file := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			content, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return sources{}, err
			}
			if err := pkg.add(src.fset, path.Join(strings.TrimPrefix(p.ImportPath, module), file)[1:], string(content)); err != nil {
				return sources{}, err
			}
		}
		src.packages = append(src.packages, pkg)
	}
})

func (pkg *goPackage) add(fset *token.FileSet, name, content string) error {
	syntax, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	pkg.files = append(pkg.files, source{path: name, test: strings.HasSuffix(name, "_test.go"), syntax: syntax})
	return nil
}

// packageName returns the name of the package with that import path, without the module and "internal/"; empty for
// packages of other modules and for the top.
func packageName(importPath string) string {
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

// checkImports returns the imports that the table does not allow. testImports is what the tests of a package may
// import beside, with the reason.
func checkImports(src sources, t table, testPackages []string, testImports map[string]map[string]string) []string {
	var out []string
	present, used := map[string]bool{}, map[string]map[string]bool{}
	for _, pkg := range src.packages {
		present[pkg.name] = true
		allowed, known := t[pkg.name]
		if !known && pkg.name != "" {
			out = append(out, fmt.Sprintf("%s has no place in importTable; give it a floor", pkg.name))
			continue
		}
		for _, file := range pkg.files {
			for _, imported := range file.imports() {
				other := packageName(imported)
				isTest := slices.Contains(testPackages, other)
				forTests := file.test || slices.Contains(testPackages, pkg.name)
				switch {
				case other == "", !isTest && allowed[other], forTests && (isTest || other == pkg.name):
				case file.test && testImports[pkg.name][other] != "":
					used[pkg.name] = setOf(used[pkg.name], []string{other})
				case isTest:
					out = append(out, fmt.Sprintf("%s imports %s, which only tests may", file.path, other))
				default:
					out = append(out, fmt.Sprintf("%s imports %s, which importTable does not allow to %s", file.path, other, pkg.name))
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

// checkGuards returns the imports of guarded packages by packages that may not, and exceptions that are not needed.
func checkGuards(src sources, guards []guard, testPackages []string) []string {
	var out []string
	for _, g := range guards {
		used := map[string]bool{}
		for _, pkg := range src.packages {
			for _, file := range pkg.files {
				if file.test || slices.Contains(testPackages, pkg.name) {
					continue
				}
				for _, imported := range file.imports() {
					if !g.holds(imported) {
						continue
					}
					allowed := exception(g.allowed, pkg.name)
					used[allowed] = true
					if g.allowed[allowed] == "" {
						out = append(out, fmt.Sprintf("%s imports %s: %s", file.path, imported, g.why))
					}
				}
			}
		}
		out = append(out, unused(g.packages[0], g.allowed, used)...)
	}
	return out
}

// exception returns the key of the exceptions that a package falls under: its name, or "NAME/..." for a package and all
// that is below it.
func exception(reasons map[string]string, name string) string {
	for key := range reasons {
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
func checkCalls(src sources, banned []bannedCall, testPackages []string) []string {
	var out []string
	used := map[string]map[string]bool{}
	for _, pkg := range src.packages {
		for _, file := range pkg.files {
			forTests := file.test || slices.Contains(testPackages, pkg.name)
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
				used[name] = setOf(used[name], []string{pkg.name})
				if b.allowed[pkg.name] == "" {
					out = append(out, fmt.Sprintf("%s uses %s: %s", src.fset.Position(node.Pos()), name, b.why))
				}
			}
		}
	}
	for _, b := range banned {
		out = append(out, unused(b.call, b.allowed, used[b.call])...)
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
func unused(what string, reasons map[string]string, used map[string]bool) []string {
	var out []string
	for pkg, reason := range reasons {
		if !used[pkg] {
			out = append(out, fmt.Sprintf("exception for %s, %s (%s), is not needed any more; remove it", what, pkg, reason))
		}
		if strings.TrimSpace(reason) == "" {
			out = append(out, fmt.Sprintf("exception for %s, %s, has no reason", what, pkg))
		}
	}
	slices.Sort(out)
	return out
}
