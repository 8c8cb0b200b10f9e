package kqueen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestPlatforms: the command line and the public client are valid Go for the platforms of their users. They are type-checked from
// source, which takes seconds where building them takes minutes; "make clients" builds them.
func TestPlatforms(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{"darwin/arm64", "windows/amd64"} {
		t.Run(platform, func(t *testing.T) {
			system, processor, _ := strings.Cut(platform, "/")
			checked := 0
			found, err := packages.Load(&packages.Config{
				Context: t.Context(), Dir: root, ParseFile: withoutForeignBodies(root),
				Mode: packages.LoadAllSyntax | packages.NeedModule,
				Env:  append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
			}, "./cmd/kqueen", "./client")
			if err != nil {
				t.Fatal(err)
			}
			packages.Visit(found, nil, func(p *packages.Package) {
				if p.Module == nil || p.Module.Path != module {
					return
				}
				checked++
				for _, wrong := range p.Errors {
					t.Error(wrong)
				}
			})
			if checked < 20 {
				t.Errorf("%d packages of ours were checked", checked)
			}
		})
	}
}

// withoutForeignBodies parses files without the bodies of functions that are not ours: those are valid, and most of what there is.
func withoutForeignBodies(root string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(files *token.FileSet, name string, content []byte) (*ast.File, error) {
		file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
		if err != nil || strings.HasPrefix(name, root+string(filepath.Separator)) {
			return file, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
		return file, nil
	}
}
