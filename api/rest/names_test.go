package rest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// spelledByOthers are the files with what standards of others have spelled.
var spelledByOthers = map[string]string{
	"oauth.go":     "RFC 6749 and RFC 8628",
	"discovery.go": "RFC 8414, beside what is ours",
}

// instants are the times whose names do not end in At, and why.
var instants = map[string]string{
	"AuditRecord.time":      "records are stored and exported with it",
	"ClusterNow.asOf":       "the same, of one cluster that was asked",
	"InventoryCluster.asOf": "the word of every answer about clusters for when it is known",
	"InventoryPlace.asOf":   "as of a cluster",
	"InventoryPlace.since":  "an interval's begin, as the inventory is asked: since and until",
	"InventoryPlace.until":  "an interval's end",
}

// TestNames: times end in At, durations say their unit, and an id is called so, as docs/development/adr/0032 has it.
func TestNames(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			ast.Inspect(declared.Type, func(n ast.Node) bool {
				field, ok := n.(*ast.Field)
				if !ok || field.Tag == nil {
					return true
				}
				found++
				name := declared.Name.Name + "." + nameOf(t, field)
				for _, problem := range problemsOf(name, field.Type, spelledByOthers[path] != "") {
					t.Errorf("%s: %s", name, problem)
				}
				return true
			})
			return true
		})
	}
	if found < 100 {
		t.Errorf("only %d fields were looked at", found)
	}
}

// nameOf is the name of a field on the wire.
func nameOf(t *testing.T, field *ast.Field) string {
	t.Helper()
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

func problemsOf(name string, kind ast.Expr, others bool) []string {
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	var problems []string
	selector, ok := kind.(*ast.SelectorExpr)
	if ok && selector.Sel.Name == "Time" && !strings.HasSuffix(name, "At") && instants[name] == "" {
		problems = append(problems, "the name of a time ends in At")
	}
	if ok && selector.Sel.Name == "Duration" {
		problems = append(problems, "a duration is an integer whose name ends in Seconds")
	}
	if strings.Contains(name, "_") && !others {
		problems = append(problems, "names are in camelCase")
	}
	if strings.HasSuffix(name, "ID") && !strings.HasSuffix(name, "UID") {
		problems = append(problems, "an id is spelled Id")
	}
	return problems
}
