package main

import (
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	beginMarker = "<!-- generated: do not edit below -->"
	endMarker   = "<!-- generated: end -->"
	indexName   = "README.md"
)

// splice returns the page with what stands between its markers replaced by part.
func splice(page, part string) (string, error) {
	if strings.Count(page, beginMarker) != 1 || strings.Count(page, endMarker) != 1 {
		return "", fmt.Errorf("the lines %q and %q must each be there once", beginMarker, endMarker)
	}
	above, rest, _ := strings.Cut(page, beginMarker)
	_, below, found := strings.Cut(rest, endMarker)
	if !found {
		return "", errors.New("the end marker comes before the beginning")
	}
	return above + beginMarker + "\n\n" + strings.TrimSpace(part) + "\n\n" + endMarker + below, nil
}

// renderIndex returns the generated part of the index: all kinds, and what they have in common.
func renderIndex(kinds []kind, shared vocabulary) string {
	var b strings.Builder
	rows := [][]string{{"Kind", "Scope", "Short name", "Is"}}
	for i := range kinds {
		k := &kinds[i]
		names := k.crd.Spec.Names
		rows = append(rows, []string{
			fmt.Sprintf("[%s](%s)", k.name(), k.page()), scope(k.crd), codes(names.ShortNames), k.root().Description,
		})
	}
	b.WriteString("## All kinds\n\n")
	table(&b, rows)
	b.WriteString("\n## Conditions of every kind\n\n")
	table(&b, wordRows("Condition", shared.Conditions))
	b.WriteString("\n## Reasons of every kind\n\n")
	table(&b, wordRows("Reason", shared.Reasons))
	return b.String()
}

// renderKind returns the generated part of the page of a kind.
func renderKind(k *kind, words vocabulary) string {
	var b strings.Builder
	names := k.crd.Spec.Names
	b.WriteString("## Reference\n\n")
	table(&b, [][]string{
		{"", ""},
		{"apiVersion", code(k.crd.Spec.Group + "/" + k.version.Name)},
		{"kind", code(names.Kind)},
		{"Scope", scope(k.crd)},
		{"Names for kubectl", codes(append([]string{names.Plural, names.Singular}, names.ShortNames...))},
		{"Categories", codes(names.Categories)},
	})
	if rules := rulesOf(k.root()); len(rules) > 0 {
		b.WriteString("\n### Rules\n\n")
		for _, rule := range rules {
			fmt.Fprintf(&b, "- %s\n", oneLine(rule))
		}
	}
	b.WriteString("\n### Spec\n\nWhat stands in quotes is the API server's answer when a rule is broken.\n\n")
	table(&b, specRows(k.root()))
	b.WriteString("\n### Status\n\n")
	table(&b, statusRows(k.root()))
	b.WriteString("\n### Conditions\n\nBeside [those of every kind](README.md#conditions-of-every-kind):\n\n")
	table(&b, wordRows("Condition", words.Conditions))
	b.WriteString("\n### Reasons\n\nBeside [those of every kind](README.md#reasons-of-every-kind):\n\n")
	table(&b, wordRows("Reason", words.Reasons))
	b.WriteString("\n### Columns\n\n")
	table(&b, columnRows(k.version.AdditionalPrinterColumns))
	return b.String()
}

func scope(crd *apiextensionsv1.CustomResourceDefinition) string {
	if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
		return "the whole installation"
	}
	return "namespaced"
}

func specRows(root *apiextensionsv1.JSONSchemaProps) [][]string {
	rows := [][]string{{"Field", "Type", "Default", "Required", "Constraints", "Description"}}
	spec := root.Properties["spec"]
	top := field{Path: "spec", Type: typeOf(&spec), Constraints: constraintsOf(&spec), Description: spec.Description}
	for _, name := range root.Required {
		top.Required = top.Required || name == "spec"
	}
	for _, f := range append([]field{top}, fieldsOf("spec", &spec)...) {
		required := ""
		if f.Required {
			required = "yes"
		}
		rows = append(rows, []string{code(f.Path), f.Type, code(f.Default), required, strings.Join(f.Constraints, "; "), f.Description})
	}
	return rows
}

func statusRows(root *apiextensionsv1.JSONSchemaProps) [][]string {
	rows := [][]string{{"Field", "Type", "Description"}}
	status := root.Properties["status"]
	for _, f := range fieldsOf("status", &status) {
		rows = append(rows, []string{code(f.Path), f.Type, f.Description})
	}
	return rows
}

func columnRows(columns []apiextensionsv1.CustomResourceColumnDefinition) [][]string {
	rows := [][]string{{"Column", "Shows", "When"}}
	for _, c := range columns {
		when := "always"
		if c.Priority > 0 {
			when = code("-o wide")
		}
		rows = append(rows, []string{c.Name, code(c.JSONPath), when})
	}
	return rows
}

func wordRows(head string, words []word) [][]string {
	rows := [][]string{{head, "Means"}}
	for _, w := range words {
		rows = append(rows, []string{code(w.Name), w.Means})
	}
	return rows
}

// table writes rows as a Markdown table, of which the first is the head.
func table(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		for _, cell := range row {
			// A bar ends a cell even inside of code.
			fmt.Fprintf(b, "| %s ", strings.ReplaceAll(oneLine(cell), "|", `\|`))
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

// code returns text as Markdown code, and empty text as it is.
func code(text string) string {
	if text == "" {
		return ""
	}
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

func codes(texts []string) string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = code(text)
	}
	return strings.Join(out, ", ")
}
