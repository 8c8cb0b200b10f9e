package kqueen_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// checkForm returns where packages, files and functions break a rule about their form.
func checkForm(src sources) []string {
	var out []string
	for _, pkg := range src.packages {
		for _, problem := range packageProblems(pkg) {
			out = append(out, pkg.name+": "+problem)
		}
		for _, file := range pkg.files {
			if ast.IsGenerated(file.syntax) {
				continue
			}
			out = append(out, src.fileProblems(file)...)
		}
	}
	return out
}

func packageProblems(pkg goPackage) []string {
	var out []string
	comment, declared, product := 0, false, false
	for _, file := range pkg.files {
		declared = declared || slices.ContainsFunc(file.syntax.Decls, isDeclaration)
		if file.test {
			continue
		}
		product = true
		if file.syntax.Doc != nil {
			comment = max(comment, len(strings.Split(strings.TrimSpace(file.syntax.Doc.Text()), "\n")))
		}
		if name := file.syntax.Name.Name; slices.Contains(bannedNames, name) {
			out = append(out, fmt.Sprintf("package name %s says nothing about what is inside", name))
		}
	}
	if name := path.Base(pkg.name); slices.Contains(bannedNames, name) {
		out = append(out, fmt.Sprintf("folder name %s says nothing about what is inside", name))
	}
	if product && comment < minCommentLines {
		out = append(out, fmt.Sprintf("the package comment has %d lines; say in %d or more what it is for, what it hides and which packages may import it", comment, minCommentLines))
	}
	if !declared {
		out = append(out, "declares nothing; remove it until something stands in it")
	}
	return out
}

func isDeclaration(decl ast.Decl) bool {
	gen, ok := decl.(*ast.GenDecl)
	return !ok || gen.Tok != token.IMPORT
}

func (src sources) fileProblems(file source) []string {
	var out []string
	add := func(at token.Pos, format string, args ...any) {
		out = append(out, src.fset.Position(at).String()+": "+fmt.Sprintf(format, args...))
	}
	if name := strings.TrimSuffix(path.Base(file.path), ".go"); slices.Contains(bannedNames, name) {
		add(file.syntax.Package, "the file's name says nothing about what is inside")
	}
	if n := src.fset.File(file.syntax.FileStart).LineCount(); n > maxFileLines {
		add(file.syntax.Package, "%d lines, more than %d", n, maxFileLines)
	}
	for node := range ast.Preorder(file.syntax) {
		switch n := node.(type) {
		case *ast.FuncDecl:
			limit := maxFunctionLines
			if n.Name.Name == "Reconcile" {
				limit = maxReconcileLines
			}
			if lines := src.fset.Position(n.End()).Line - src.fset.Position(n.Pos()).Line + 1; lines > limit {
				add(n.Pos(), "%s has %d lines, more than %d", n.Name.Name, lines, limit)
			}
			if n.Name.Name == "init" && n.Recv == nil {
				add(n.Pos(), "func init runs unasked; call it from where it is wanted")
			}
		case *ast.InterfaceType:
			if methods := methodCount(file, n); methods > maxMethods {
				add(n.Pos(), "interface of %d methods, more than %d", methods, maxMethods)
			}
		case *ast.CallExpr:
			if !file.test && readsErrorText(n) {
				add(n.Pos(), "decides by the text of an error; use errors.Is or errors.As")
			}
		}
	}
	return out
}

// methodCount counts the methods of an interface; of what it embeds only what the same file declares, because
// the width of others' interfaces is not ours.
func methodCount(file source, i *ast.InterfaceType) int {
	count := 0
	for _, field := range i.Methods.List {
		if _, ok := field.Type.(*ast.FuncType); ok {
			count += max(1, len(field.Names))
			continue
		}
		embedded, ok := field.Type.(*ast.Ident)
		if !ok {
			continue
		}
		for node := range ast.Preorder(file.syntax) {
			spec, ok := node.(*ast.TypeSpec)
			if !ok || spec.Name.Name != embedded.Name {
				continue
			}
			if inner, ok := spec.Type.(*ast.InterfaceType); ok && inner != i {
				count += methodCount(file, inner)
			}
		}
	}
	return count
}

// readsErrorText tells a call that looks for something in the text of an error: strings.Contains(err.Error(), …),
// pattern.MatchString(err.Error()) and the like.
func readsErrorText(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.ContainsFunc([]string{"Contains", "HasPrefix", "HasSuffix", "Index", "Match", "Find", "EqualFold"},
		func(prefix string) bool { return strings.HasPrefix(fun.Sel.Name, prefix) }) {
		return false
	}
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		inner, ok := arg.(*ast.CallExpr)
		if !ok || len(inner.Args) > 0 {
			return false
		}
		method, ok := inner.Fun.(*ast.SelectorExpr)
		return ok && method.Sel.Name == "Error"
	})
}
