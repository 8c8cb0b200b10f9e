package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// common stands in place of a kind's name for the words that every kind uses.
const common = ""

// word is a condition or a reason, and the sentence that says what it means.
type word struct{ Name, Means string }

// vocabulary is the conditions and reasons of one kind, in the order of the source.
type vocabulary struct{ Conditions, Reasons []word }

// readWords returns the vocabularies of the Go package in the folder dir, by kind. A file that declares the
// type of one of kinds holds the words of that kind; a file that declares none holds the common ones.
func readWords(dir string, kinds []string) (map[string]vocabulary, error) {
	files := token.NewFileSet()
	words := map[string]vocabulary{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list Go types: %w", err)
	}
	for _, entry := range entries {
		if !isSource(entry) {
			continue
		}
		file, err := parser.ParseFile(files, dir+"/"+entry.Name(), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parse Go types: %w", err)
		}
		of, err := kindOf(file, kinds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		found, err := wordsOf(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		have := words[of]
		have.Conditions = append(have.Conditions, found.Conditions...)
		have.Reasons = append(have.Reasons, found.Reasons...)
		words[of] = have
	}
	for _, kind := range kinds {
		if len(words[kind].Conditions) == 0 {
			return nil, fmt.Errorf("kind %s has no condition of its own; declare it in the file of type %s", kind, kind)
		}
	}
	return words, nil
}

func isSource(entry fs.DirEntry) bool {
	name := entry.Name()
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated")
}

// kindOf returns which of kinds is declared in file.
func kindOf(file *ast.File, kinds []string) (string, error) {
	found := common
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			name := spec.(*ast.TypeSpec).Name.Name
			if !slices.Contains(kinds, name) {
				continue
			}
			if found != common {
				return "", fmt.Errorf("declares the kinds %s and %s; give each its own file, so that its reasons are known", found, name)
			}
			found = name
		}
	}
	return found, nil
}

// wordsOf returns the constants of a file that are named Condition… or Reason….
func wordsOf(file *ast.File) (vocabulary, error) {
	var v vocabulary
	var errs []error
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			value := spec.(*ast.ValueSpec)
			list := v.listFor(value.Names[0].Name)
			if list == nil {
				continue
			}
			w, err := wordOf(value)
			errs = append(errs, err)
			*list = append(*list, w)
		}
	}
	return v, errors.Join(errs...)
}

// listFor returns the list that a constant of that name belongs to, or nil.
func (v *vocabulary) listFor(constant string) *[]word {
	switch {
	case strings.HasPrefix(constant, "Condition"):
		return &v.Conditions
	case strings.HasPrefix(constant, "Reason"):
		return &v.Reasons
	}
	return nil
}

func wordOf(spec *ast.ValueSpec) (word, error) {
	constant := spec.Names[0].Name
	if len(spec.Names) != 1 || len(spec.Values) != 1 {
		return word{}, fmt.Errorf("constant %s: declare one constant a line, with its value", constant)
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return word{}, fmt.Errorf("constant %s: the value must be a string literal", constant)
	}
	name, err := strconv.Unquote(literal.Value)
	if err != nil {
		return word{}, fmt.Errorf("constant %s: %w", constant, err)
	}
	means, ok := strings.CutPrefix(oneLine(spec.Doc.Text()), constant)
	means = strings.TrimPrefix(strings.TrimPrefix(means, ":"), " is")
	means = strings.TrimSpace(means)
	if !ok || means == "" {
		return word{}, fmt.Errorf("constant %s: the comment must begin with the name and say what it means", constant)
	}
	return word{Name: name, Means: capital(means)}, nil
}

// capital returns text with its first letter in upper case.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// oneLine returns text with every run of white space as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
